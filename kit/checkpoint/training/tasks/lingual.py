"""Lingual: matches, facts, numbers, urgency and triage in five languages, asked in the language or in English."""

from __future__ import annotations

import random
import unicodedata

from kit.checkpoint.training.samples import Sample, Split
from kit.checkpoint.training.tasks import facts, match, numbers, triage
from kit.checkpoint.training.tasks.actions import split_of_pair
from kit.checkpoint.training.tasks.languages import LANGUAGES, Language, wordings
from kit.checkpoint.training.tasks.parts import Part, choice, entries, listed, single
from kit.checkpoint.training.tasks.parts import score as scored
from kit.checkpoint.training.tasks.scales import SCALES
from kit.checkpoint.training.tasks.score import ASK_GRADED as GRADED
from kit.checkpoint.training.vocabulary import Wordings, distinct, invented

LEVELS = 4
THAI_CONSONANTS = "กขคงจชซดตถทนบปผพฟมยรลวสหอ"
THAI_VOWELS = ("ะ", "า", "ิ", "ี", "ุ", "ู", "่า", "้า", "อ", "ำ")
ACCENTED = ("äeiöü", "áéíóú", "aeiou", "àèîôù", "aéioü")
SCRIPTS = (
    (0x3B1, 0x3C9), (0x410, 0x450), (0x5D0, 0x5EA), (0x621, 0x64A), (0x905, 0x939), (0x3042, 0x3094), (0x30A2, 0x30FA), (0xAC00, 0xD7A4),
    (0x1F600, 0x1F640), (0xC0, 0x180), (0x1F300, 0x1F5FF), (0x2190, 0x2200), (0x4E00, 0x9FA0),
)  # Greek, Cyrillic, Hebrew, Arabic, Devanagari, kana, Hangul, faces, Latin, pictures, arrows, Chinese  # fmt: skip
TEAM_FORMS = ("{name}", "{name}", "{name} ({a}, {b})", "{name}: {a}, {b}", "{name}：{a}、{b}", "{a}, {b}", "{name} - {a}")
GRADES = {"de": "Stufe {n}", "es": "nivel {n}", "fr": "niveau {n}", "zh": "{n}级", "th": "ระดับ {n}"}
ASK_GRADE = {
    "de": wordings("Welche Stufe ist es?|Welche Stufe steht im Text?|Auf welcher Stufe?", "Welche Stufe?", "Welche Stufe steht da?|Welche Stufe ist im Text?"),
    "es": wordings("¿Qué nivel es?|¿Qué nivel dice el texto?|¿En qué nivel?", "¿Qué nivel?", "¿Qué nivel está en el texto?|¿Cuál es el nivel?"),
    "fr": wordings("Quel niveau est-ce ?|Quel niveau dit le texte ?|À quel niveau ?", "Quel niveau ?", "Quel est le niveau ?|Quel niveau est dans le texte ?"),
    "zh": wordings("是几级？|文中是哪一级？|在哪一级？", "哪一级？", "是哪一级？|文中写的是几级？"),
    "th": wordings("ระดับไหน?|ระดับอะไร?", "ระดับ?", "คือระดับไหน?|เป็นระดับอะไร?"),
}  # fmt: skip
URGENT = SCALES[1].ask


def make(rng: random.Random, split: Split, level: int = LEVELS - 1) -> Sample:
    """0: a match of two; 1: facts, too, to four candidates; 2: teams, urgency, numbers; 3: to eight, any script."""
    return single(rng, "lingual", split, level, part(rng, split, level))


def part(rng: random.Random, split: Split, level: int = LEVELS - 1) -> Part:
    """One question in one of the languages, or about letters of any script."""
    if rng.random() < 0.08 and level == LEVELS - 1:
        return _any_script(rng, split, rng.randint(2, 5))
    return spoken(rng, split, rng.choice(list(LANGUAGES)), level)


def spoken(rng: random.Random, split: Split, code: str, level: int = LEVELS - 1) -> Part:
    """One question in the language of a code of LANGUAGES."""
    count = rng.randint(2, (2, 4, 5, 8)[level])
    if rng.random() < (1, 1, 0.5, 0.5)[level]:
        return rng.choice((_match, _fact)[: level + 1])(rng, split, code, count)
    if rng.random() < 0.2:
        return _graded(rng, split, code, count)
    return rng.choice((_team, _urgency, _number))(rng, split, LANGUAGES[code], count)


def nouns(language: Language, split: Split) -> list[str]:
    """The language's nouns of a split: four of six in train, so that a short list leaves some for each."""
    return [noun for index, noun in enumerate(language.nouns) if _turn(index) == split]


def _turn(index: int) -> Split:
    turns: tuple[Split, ...] = ("train", "train", "train", "train", "calibration", "held-out")
    return turns[index % len(turns)]


def _made_up(rng: random.Random, code: str, split: Split) -> str:
    """Letters of the language in no sense: characters that no list holds are copied from bytes."""
    if code == "zh":
        return "".join(chr(rng.randrange(0x4E00, 0x9FA0)) for _ in range(rng.randint(1, 3)))
    if code == "th":
        return "".join(rng.choice(THAI_CONSONANTS) + rng.choice(THAI_VOWELS) for _ in range(rng.randint(1, 3)))
    made = invented(rng, split)
    return made.translate(str.maketrans("aeiou", rng.choice(ACCENTED)))


def _things(rng: random.Random, split: Split, code: str, count: int) -> list[str]:
    """Different nouns of the language, at times made up."""
    pool = nouns(LANGUAGES[code], split)
    odd = 0.3 if count <= len(pool) else 0.6
    return distinct(lambda: _made_up(rng, code, split) if rng.random() < odd else rng.choice(pool), count)


def _asked(rng: random.Random, split: Split, own: Wordings, english: Wordings, **fields: object) -> str:
    return (own if rng.random() < 0.7 else english).pick(rng, split, **fields)


def _match(rng: random.Random, split: Split, code: str, count: int) -> Part:
    language = LANGUAGES[code]
    chosen = _things(rng, split, code, count)
    state = language.mentions.pick(rng, split, noun=chosen[0], name=rng.choice(language.names))
    return Part(state, *choice(rng, _asked(rng, split, language.ask_match, match.ASK), chosen[0], chosen[1:]))


def _any_script(rng: random.Random, split: Split, count: int) -> Part:
    """A match of letters of one of many scripts, in no sense, so that every byte is met."""
    low, high = rng.choice(SCRIPTS)
    chosen = distinct(lambda: _composed("".join(chr(rng.randrange(low, high)) for _ in range(rng.randint(1, 4)))), count)
    state = match.STATES.pick(rng, split, phrase=chosen[0], **match.names(rng, split))
    return Part(state, *choice(rng, match.ASK.pick(rng, split), chosen[0], chosen[1:]))


def _composed(text: str) -> str:
    """The text in NFC, as the tokenizer reads it."""
    return unicodedata.normalize("NFC", text)


def _fact(rng: random.Random, split: Split, code: str, count: int) -> Part:
    language = LANGUAGES[code]
    keys = rng.sample(language.keys, rng.randint(2, 4))
    values = _things(rng, split, code, 2)
    record = {key: rng.choice(values) for key in keys}
    answer = rng.random() < 0.5
    value = values[(record[keys[0]] == values[0]) ^ answer]
    rows = list(record.items())
    rng.shuffle(rows)
    question = _asked(rng, split, language.equal, facts.EQUAL, key=keys[0], value=value)
    found = f"{record[keys[0]]}, {value}: {language.yes if answer else language.no}"
    told = entries(rng, [(keys[0], found), *((key, record[key]) for key in keys[1:])], 0)
    if rng.random() < 0.5:
        texts = [language.yes, language.no]
        return Part(dict(rows), *choice(rng, question, texts.pop(not answer), texts), reason=told)
    criteria = {"true": language.yes, "false": language.no} if rng.random() < 0.6 else None
    noul = {"type": "noul", "instructions": question} | ({"criteria": criteria} if criteria else {})
    return Part(dict(rows), noul, int(not answer), reason=told)


def _team(rng: random.Random, split: Split, language: Language, count: int) -> Part:
    teams = rng.sample(language.teams, min(count, len(language.teams)))
    _, topics, problems = teams[0]
    pairs = [(t, p) for i, t in enumerate(topics) for j, p in enumerate(problems) if split_of_pair(i, j) == split]
    topic, problem = rng.choice(pairs)
    state = language.tickets.pick(rng, split, t=topic, p=problem, name=rng.choice(language.names))
    if count > 5 and rng.random() < 0.5:  # of the hardest level: a sentence that has no bearing before it
        state = f"{language.mentions.pick(rng, split, noun=rng.choice(nouns(language, split)), name=rng.choice(language.names))} {state}"
    form = rng.choice(TEAM_FORMS)
    shown = [rng.sample(topics, 2) for _, topics, _ in teams]
    texts = [form.format(name=team[0], a=a, b=b) for team, (a, b) in zip(teams, shown, strict=True)]
    return Part(state, *choice(rng, _asked(rng, split, language.ask_team, triage.ASK), texts[0], texts[1:]))


def _urgency(rng: random.Random, split: Split, language: Language, count: int) -> Part:
    kept = sorted(rng.sample(range(len(language.urgency)), min(max(count, 2), len(language.urgency))))
    right = rng.randrange(len(kept))
    cue = language.urgency[kept[right]][1].pick(rng, split)
    topic = rng.choice(rng.choice(language.teams)[1])
    state: object = rng.choice((f"{topic}: {cue}", f"{rng.choice(language.names)}: {cue}", cue))
    if rng.random() < 0.3:
        state = {"text": cue, "about": topic}
    question = _asked(rng, split, language.ask_urgency, URGENT, person=rng.choice(language.names))
    return Part(state, scored(question, [language.urgency[index][0] for index in kept]), right)


def _graded(rng: random.Random, split: Split, code: str, count: int) -> Part:
    """A level named in the language, on a scale of numbered levels, a long one at times."""
    count = count if count < 8 else rng.randint(8, 32)
    right = rng.randrange(count)
    language, grade = LANGUAGES[code], GRADES[code]
    said = grade.format(n=right)
    state = rng.choice((said, f"{rng.choice(language.names)}: {said}", language.number.pick(rng, split, n=right, name=rng.choice(language.names))))
    if rng.random() < 0.3:
        state += " " + language.mentions.pick(rng, split, noun=rng.choice(nouns(language, split)), name=rng.choice(language.names))
    question = ASK_GRADE[code].pick(rng, split) if rng.random() < 0.7 else GRADED.pick(rng, split)
    plain = rng.random() < 0.3  # levels without words
    texts = [None if plain else grade.format(n=n) for n in range(count)]
    return Part(state, scored(question, texts), right)


def _number(rng: random.Random, split: Split, language: Language, count: int) -> Part:
    pool = sorted(rng.sample(range(1, rng.choice((count + 1, 30, 300)) + count), count))
    number = rng.choice(pool)
    state = language.number.pick(rng, split, n=number, name=rng.choice(language.names))
    question = _asked(rng, split, language.ask_number, numbers.WHICH_NAMED)
    return Part(state, listed(rng, question, [str(item) for item in pool]), pool.index(number))
