"""What generated prompts are made of: pools of words, states with slots, and the questions about them. Data only.

Covers: nine kinds of text state and six of pictures, each with two questions. A slot `<thing2>` is the second word
drawn from the pool "thing". Does not cover: drawing (`kit.campaign.prompts`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from kit.campaign.prompt_pictures import COLOURS, PLAIN


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


# One token each, after a space, in the vocabulary of the checkpoints of this kit (Chinese and rare colours: a few); tests count them.
POOLS: dict[str, tuple[str, ...]] = {
    "thing": _words(
        "invoice refund order package table message backup release server database document folder picture "
        "calendar meeting reminder contract clause passport seat forecast motor valve battery screen "
        "train ship coffee tea bread apple fish rice music movie book page letter"
    ),
    "team": _words(
        "billing support security shipping legal privacy office market factory warehouse clinic restaurant university "
        "bank airport station shop hospital"
    ),
    "mood": _words("calm angry happy sad ready busy quick slow clear strange normal urgent safe cold warm"),
    "deed": _words("opened denied started stopped moved changed sent received paid sold built fixed found saved"),
    "day": _words("today tomorrow yesterday night week month year"),
    "place": _words("left right top bottom middle center up down back"),
    "colour": PLAIN,
    "any colour": COLOURS,
    "han": _words("请求 订单 退款 问题 状态 工具 图片 天气 北京 上海"),
}

SLOTS = 6  # words drawn from each pool, where it has as many

FIVE = ("nothing", "little", "some", "much", "everything")
THREE = ("low", "middle", "high")
TEN = tuple(f"level {n}" for n in range(10))


@dataclass(frozen=True)
class Ask:
    """One question about a state.

    text: instructions with slots; `<asked>` is what a noul asks about. options: of a choice, drawn from `pool`.
    answer: the slot that holds the right one, "" where none is right. levels: of a score, or (true, false) of a noul.
    """

    name: str
    type: Literal["choice", "noul", "score"]
    text: str
    pool: str = ""
    options: int = 0
    answer: str = ""
    levels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Recipe:
    """A state with slots and two questions about it. pictures: (width, height) of each."""

    state: str | Mapping[str, Any]
    asks: tuple[Ask, Ask]
    pictures: tuple[tuple[int, int], ...] = ()


def choice(name: str, options: int, pool: str, text: str, answer: str = "") -> Ask:
    return Ask(name, "choice", text, pool, options, answer)


def noul(
    name: str, pool: str, text: str, answer: str = "", levels: tuple[str, str] = ("it is so", "it is not so")
) -> Ask:
    return Ask(name, "noul", text, pool, answer=answer, levels=levels)


def score(name: str, text: str, levels: tuple[str, ...]) -> Ask:
    return Ask(name, "score", text, levels=levels)


TEXT = (
    Recipe(
        "A note for the <team1> desk: the <thing1> was <deed1> <day1>, and the <thing2> is <mood1> again.",
        (
            choice("desk", 4, "team", "To which desk was the note written?", "team1"),
            noul("mood", "mood", "Does the note call the <thing2> <asked>?", "mood1"),
        ),
    ),
    Recipe(
        {"kind": "parcel", "holds": "one <thing1>", "went": "to the <team1>", "number": "<n1><n2><n3><n4>", "fragile": True},
        (
            choice("holds", 6, "thing", "What lies in the parcel?", "thing1"),
            score("care", "How much care does the parcel ask for?", FIVE),
        ),
    ),
    Recipe(
        "1<n1>:2<n2> the <thing1> <deed1>\n1<n3>:4<n4> the <thing2> <deed2>\n1<n5>:5<n6> the <thing3> <deed3>",
        (
            choice("last", 3, "thing", "Which of these stands in the last line?", "thing3"),
            score("trouble", "How much trouble do these lines show?", TEN),
        ),
    ),
    Recipe(
        "Le client écrit : « le colis pour <team1> est <mood1>, et la facture <n1><n2><n3> manque. »",
        (
            noul("late", "", "Is something missing?", levels=("something is", "nothing is")),
            choice("where", 8, "team", "For whom is the parcel?", "team1"),
        ),
    ),
    Recipe(
        "主题：<han1>。备注：<han2>，第<n1><n2><n3>页。",
        (
            choice("topic", 5, "han", "Which word is the topic?", "han1"),
            score("length", "How long is the remark?", THREE),
        ),
    ),
    Recipe(
        {"у кого": "склад", "что": "1 <thing1>", "когда": "к <day1>", "номер": "<n1><n2><n3><n4>"},
        (
            choice("what", 7, "thing", "Which thing is in the store?", "thing1"),
            noul("when", "day", "Is the date given as <asked>?", "day1"),
        ),
    ),
    Recipe(
        "- <thing1>: <mood1>\n- <thing2>: <mood2>\n- <thing3>: <mood3>\n- <thing4>: <mood4>",
        (
            choice("how", 12, "mood", "How is the <thing2>?", "mood2"),
            noul("count", "thing", "Is there a line about the <asked>?", "thing4", ("there is", "there is none")),
        ),
    ),
    Recipe(
        "Die Lampe neben dem Regal blinkt, der Schrank links ist <mood1>. Raum <n1><n2><n3><n4>, Etage <n5>.",
        (
            choice("shelf", 2, "mood", "What is said of the cabinet?", "mood1"),
            score("repair", "How soon should somebody look at it?", FIVE),
        ),
    ),
    Recipe(
        {"door": "<place1>", "window": "<place2>", "lamp": "<place3>", "room": "<n1><n2><n3>"},
        (
            choice("lamp", 9, "place", "Where is the lamp?", "place3"),
            choice("any", 16, "thing", "Which of these would you bring into the room?"),
        ),
    ),
)

SQUARE, WIDE, TALL = (64, 64), (128, 64), (64, 128)

IMAGE = (
    Recipe(
        "A card from the box of <team1>.",
        (
            choice("colour", 4, "colour", "Which colour has the large shape?", "colour1"),
            noul("ground", "colour", "Is the ground <asked>?", "colour2"),
        ),
        (SQUARE,),
    ),
    Recipe(
        {"card": 7, "owner": "<team1>"},
        (
            choice("ground", 6, "colour", "Which colour has the ground?", "colour2"),
            score("full", "How much of the card is covered?", FIVE),
        ),
        (WIDE,),
    ),
    Recipe(
        "Eine Karte, <day1> gezeichnet.",
        (
            score("small", "How many small shapes are there?", TEN),
            choice("colour", 2, "colour", "Which colour has the large shape?", "colour1"),
        ),
        (TALL,),
    ),
    Recipe(
        "两张卡片：<han1>。",
        (
            choice("second", 5, "colour", "Which colour has the large shape of the second card?", "colour3"),
            noul("first", "colour", "Is the large shape of the first card <asked>?", "colour1"),
        ),
        (SQUARE, SQUARE),
    ),
    Recipe(
        {"cards": ["a", "b"], "place": "<place1>"},
        (
            noul("same", "", "Do both cards have the same ground?", levels=("both have", "they differ")),
            choice("b", 16, "any colour", "Which colour has the ground of card b?", "colour4"),
        ),
        (WIDE, SQUARE),
    ),
    Recipe(
        "Three cards in a row.",
        (
            choice("third", 3, "colour", "Which colour has the large shape of the third card?", "colour5"),
            score("order", "How alike are the three cards?", THREE),
        ),
        (SQUARE, SQUARE, SQUARE),
    ),
)

RECIPES: dict[Literal["text", "image"], tuple[Recipe, ...]] = {"text": TEXT, "image": IMAGE}
