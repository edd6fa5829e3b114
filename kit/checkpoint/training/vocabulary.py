"""Words the tasks are filled with, and how words and wordings are kept apart between splits.

Covers: lists written for this package, words invented from syllables, `Wordings` (sentences that belong to
one split each), and the split of every list by a hash of the word. Does not cover: other languages
(`kit.checkpoint.training.tasks.languages`).
"""

from __future__ import annotations

import functools
import hashlib
import random
import re
from collections.abc import Callable
from dataclasses import dataclass

from kit.checkpoint.training.samples import SPLITS, Split

SHARES: dict[Split, int] = {"train": 4, "calibration": 1, "held-out": 1}  # of six hash buckets


def listed(text: str) -> tuple[str, ...]:
    """The words of a text."""
    return tuple(text.split())


ADJECTIVES = listed("""
amber ancient bitter blank bold brass brief bright broken calm careful clear clever coarse cold common copper crisp
curious daily damp dark deep dense distant double dry dusty early eastern empty exact faint fast final firm flat foggy
formal fragile fresh frozen full gentle glassy golden grand green grey heavy hidden hollow honest humble idle inner
iron keen large late lazy level light linen little local long loose loud lower lucky main mellow mild misty modern
narrow neat new noisy northern odd old open orange outer pale patient plain polished proud purple quick quiet rapid
rare raw ready red remote rough round royal rusty salty second shallow sharp short shy silent silver simple single
sleepy slow small smooth soft solid southern spare square stable steady steep stiff strange strict strong sudden sunny
sweet tall tame tender thick thin tidy tiny tired tough upper urban urgent vacant vague violet warm western wet white
wide wild windy wise wooden yellow young
""")

NOUNS = listed("""
anchor apple archive arrow badge bakery balcony ball bank barrel basket battery beacon bell bench bicycle blanket boat
book border bottle branch bread bridge broom bucket button cabin cable cake calendar camera canal candle carpet carton
castle ceiling chain chair chapel cherry chimney clock cloud coat coffee coin comet compass corner cotton crane crate
crown cup curtain desk diary dock door drawer drum engine envelope escalator fabric farm feather fence ferry field
filter flag flame flute folder forest fork fountain frame garage garden gate glacier glove grain guitar hammer harbour
hat helmet hill hinge hotel island jacket jar kettle key kitchen kite ladder lake lamp lantern leaf lemon lens letter
library lift lock machine magnet map market mask meadow medal melon mill mirror monitor mountain museum needle nest
notebook oven packet paddle paint palace paper park parcel path pebble pencil pepper piano pillow pipe plate platform
pocket pond poster potato printer pump puzzle quarry radio railway ramp ribbon ring river road rocket roof rope saddle
sail sandwich scarf school scissors screen shelf ship shoe shovel signal socket sofa spoon spring stamp station statue
stone storm stove street string sugar suitcase switch table tablet teapot temple tent theatre ticket tile timber tin
tower tractor train tray trumpet tunnel turbine umbrella valley vase vault vessel village violin wagon wall wallet
warehouse watch wheel whistle window winter wire workshop yard zebra
""")

VERBS = listed("""
adjust answer archive arrange borrow bring build carry change check choose clean close collect compare copy count cover
cut deliver describe draw drop empty fetch file fill find finish fold follow gather guard guide hang hide hold invite
join keep label leave lift list load lock mark measure mend move name offer order pack paint pass pause pick place plan
plant pour prepare press print pull push read record repair replace return review ring roll save seal search sell send
serve share show sign sort start stop store sweep swap take teach test tie trace trade turn wash watch weigh wrap write
""")

PEOPLE = listed("""
Adela Akira Alma Amadou Anouk Arjun Astrid Bashir Beatriz Benno Bruna Callum Carmen Chidi Clara Dalia Darius Deniz Edda
Elif Emil Farah Fatou Felix Gita Greta Hamid Hanna Hugo Ida Imani Ines Ivo Jana Jonas Kaito Kamala Kira Lars Leila Lena
Luca Magda Malik Marta Mei Milan Mira Nadia Nils Noor Olga Omar Paula Pavel Petra Quinn Rafael Rana Rosa Ruben Salma
Sanjay Selma Sofia Sven Tala Tariq Tessa Tomas Uma Vera Viktor Wanda Yara Yusuf Zeno Zora
""")

PLACES = listed("""
Arlow Bergen Brisa Calder Corvo Dunmere Elbany Falken Ferrol Garmo Haldon Harwick Iskra Jarrow Kelso Kirna Lindau Lorne
Malden Merrin Nordby Oakham Ostra Pello Porto Quarr Ravno Rimini Salter Selby Sorrel Tarvo Tilburn Umbra Vadso Velden
Westow Wismar Yarrow Zelten
""")

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

SERVICES = listed("""
account-sync alerts api-gate archive-store auth backup basket billing cache calendar catalog chat-relay checkout cluster
config crawler dashboard database delivery dns-edge export feed files forecast gateway geocoder identity images import
indexer inventory invoices jobs ledger loader logs mail mailer matcher messages metrics monitor notifier orders payments
pipeline planner portal pricing profile proxy queue ranking records refunds reports router scheduler search session
shipping signup storage stream sync tariffs tasks tickets token-store tracker translator uploads users vault video-feed
webhooks worker
""")

TEXT_KEYS = listed("""
area assignee author branch building carrier category channel city colour contact country currency department depot
device environment format group kind language lane location mode owner phase plan platform priority product profile
provider queue reason region release role room route sender site source stage state status supplier team tier topic
type unit vendor zone
""")

NUMBER_KEYS = listed("""
age amount attempts balance boxes capacity copies credits days delay depth distance errors files floor guests height
hits hours jobs latency length level limit lines load minutes nodes orders pages percent pieces points price pressure
quantity ram replicas requests retries rows score seats shelf size speed steps stock stops tasks temperature threads
tickets timeout tokens total units users version visits volume weight width workers
""")

FLAG_KEYS = listed("""
active approved archived automatic blocked cached closed complete confirmed damaged delayed deleted draft editable
enabled encrypted expired final flagged frozen hidden insured internal late locked managed muted online optional paid
paused pinned private public read ready received released required retired reviewed sealed shared shipped signed
stable synced urgent valid verified visible
""")

LIST_KEYS = listed("""
badges colours contents cities features friends goods groups hosts ingredients items keys labels languages members
modules names options parts people permissions places plugins products regions roles rooms sections services skills
tags teams tools topics
""")

PARENT_KEYS = listed("""
account address agent batch booking cargo case client config contract customer delivery details driver event flight
host job machine meta order package payment project record report request ship shop sensor server settings shipment
storage task ticket trip user vehicle visit
""")

VALUES = listed("""
alpha annual approved archive assigned automatic autumn basic beta black blue bronze bulk camera cash central chat
closed cloud cold daily done draft east email express failed fast fixed free front gamma global gold green guest high
hourly idle indoor internal invoice late legacy light linux local low mail manual medium mobile monthly night normal
north office online open orange outdoor paper paused pending phone plastic premium private public purple queued ready
red rejected remote rented retail returned running secure silver south spare spring staging standard stopped store
summer test trial urgent van waiting web weekly west white winter wood yellow
""")

ONSETS = listed("b bl br c ch cl cr d dr f fl fr g gl gr h j k kl kr l m n p pl pr qu r s sh sk sl sn sp st t th tr v w y z zh")
NUCLEI = listed("a e i o u ai au ea ei ia io oa oo ou y ee")
CODAS = ["", "", "", "", "n", "r", "l", "s", "m", "x", "k", "t", "nd", "rt", "sk", "ng", "lm", "p", "d", "sh", "th", "ck"]
RUDE = re.compile("fuc?k|shi+t|[ck]oc?k|coon|dic?k|cunt|nig|tit|slut|rape|arse|fag|piss|kike|poo|cum|whor|jew|spic")
INVENTIONS = 30_000  # drawn for each number of syllables; every split keeps its share
LISTS = {
    "adjective": ADJECTIVES, "noun": NOUNS, "verb": VERBS, "person": PEOPLE, "place": PLACES, "service": SERVICES,
    "text key": TEXT_KEYS, "number key": NUMBER_KEYS, "flag key": FLAG_KEYS, "list key": LIST_KEYS,
    "parent key": PARENT_KEYS, "value": VALUES,
}  # fmt: skip


@dataclass(frozen=True)
class Wordings:
    """Sentences of one purpose, each the property of one split; one written twice is drawn twice as often.

    Raises ValueError where two splits share a sentence or one has none.
    """

    train: tuple[str, ...]
    calibration: tuple[str, ...]
    held_out: tuple[str, ...]

    def __post_init__(self) -> None:
        groups = [set(group) for group in (self.train, self.calibration, self.held_out)]
        if not all(groups) or len(set().union(*groups)) != sum(map(len, groups)):
            raise ValueError(f"wordings are missing or shared between splits: {groups}")

    def of(self, split: Split) -> tuple[str, ...]:
        """The sentences of a split."""
        return {"train": self.train, "calibration": self.calibration, "held-out": self.held_out}[split]

    def pick(self, rng: random.Random, split: Split, **fields: object) -> str:
        """One of the split's sentences, its fields filled in."""
        return rng.choice(self.of(split)).format(**fields)


def split_of(word: str) -> Split:
    """The split a word belongs to, by its SHA-256 in SHARES of six buckets."""
    bucket = int.from_bytes(hashlib.sha256(word.casefold().encode()).digest()[:4], "big") % sum(SHARES.values())
    for split in SPLITS:
        bucket -= SHARES[split]
        if bucket < 0:
            return split
    raise AssertionError("the shares cover every bucket")


@functools.cache
def words(kind: str, split: Split) -> tuple[str, ...]:
    """The split's words of a list of LISTS."""
    return tuple(word for word in LISTS[kind] if split_of(word) == split)


def word(rng: random.Random, kind: str, split: Split) -> str:
    """One of the split's words of a kind."""
    return rng.choice(words(kind, split))


def several(rng: random.Random, kind: str, split: Split, count: int) -> list[str]:
    """`count` different words of a kind, some of them invented, more of them at times or where the list is short.

    In train more of them are `strange`: what is unseen later must not be the first strange word.
    """
    pool = words(kind, split)
    train = split == "train"
    share = (0.4 if train else 1 / 6) if count * 2 < len(pool) and rng.random() < 0.75 else 0.6
    other = strange if train else invented
    return distinct(lambda: other(rng, split) if rng.random() < share else rng.choice(pool), count)


def strange(rng: random.Random, split: Split) -> str:
    """A word that a list would not hold where it stands: invented, coined, or of any list."""
    kind = rng.random()
    if kind < 0.35:
        return invented(rng, split)
    return coined(rng, split) if kind < 0.75 else rng.choice(_every_word(split))


def coined(rng: random.Random, split: Split) -> str:
    """The head of one word and the tail of another, as a word that no other split has: it looks like one of English."""
    every = _every_word(split)
    while True:
        head, tail = rng.choice(every), rng.choice(every)
        made = head[: rng.randint(2, 5)] + tail[-rng.randint(2, 5) :]
        if len(made) > 3 and made.isalpha() and split_of(made) == split and not RUDE.search(made):
            return made


@functools.cache
def _every_word(split: Split) -> tuple[str, ...]:
    """The split's words of all lists, in small letters."""
    return tuple(dict.fromkeys(word.casefold() for kind in LISTS for word in words(kind, split)))


def invented(rng: random.Random, split: Split, syllables: int | None = None) -> str:
    """A word of one to three made-up syllables (or as many as asked for) that no other split has."""
    return rng.choice(_inventions(split, syllables or rng.choice((1, 2, 2, 2, 3))))


@functools.cache
def _inventions(split: Split, syllables: int) -> tuple[str, ...]:
    """Invented words of a split, many; the same on every machine."""
    rng = random.Random(f"invented/{split}/{syllables}")
    drawn = (
        "".join(rng.choice(ONSETS) + rng.choice(NUCLEI) + rng.choice(CODAS) for _ in range(syllables))
        for _ in range(INVENTIONS)
    )
    return tuple(dict.fromkeys(made for made in drawn if len(made) > 2 and split_of(made) == split and not RUDE.search(made)))


def code(rng: random.Random) -> str:
    """A reference such as KD-4410."""
    letters = "".join(rng.choice("ABCDEFGHJKLMNPRSTUVWXYZ") for _ in range(rng.choice((2, 2, 3))))
    return f"{letters}-{rng.randrange(10, 10 ** rng.choice((2, 3, 4)))}"


def written(rng: random.Random, split: Split) -> str:
    """Something people write that is no word: an address, a path, a price, a key, a mark and a number."""
    a, b = (invented(rng, split, 1) for _ in range(2))
    number = rng.randrange(10 ** rng.choice((1, 2, 3)))
    forms = (
        f"{a}@{b}.io", f"/{a}/{b}", f"{a}/{b}.txt", f"{number}%", f"${number}", f"{number} €", f"{a}_{b}", f"#{number}", f"{a}#{b}",
        f"{a}={number}", f"{a}.{b}", f"<{a}>", f"[{a}]", f"{{{a}}}", f"({a})", f"{a}&{b}", f"{a}*{number}", f"{a}+{b}", f"~{a}", f"`{a}`",
        f"{a}|{b}", f"^{a}", f"{a}:{number}", f"{a};{b}", f"{a}\\{b}", f"{a.upper()}_{b.upper()}", f"{a}{b.capitalize()}", f"v{number}.{len(a)}",
        f"{a} – {b}", f"{a}… {b}", f"“{a}”", f"{a}’s", f"{a}-{number}", f"{number}.{len(b)}",
    )  # fmt: skip
    return rng.choice(forms)


def distinct(draw: Callable[[], str], count: int) -> list[str]:
    """`count` different results of `draw`, in the order drawn."""
    found: dict[str, None] = {}
    while len(found) < count:
        found[draw()] = None
    return list(found)
