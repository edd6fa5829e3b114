"""Generated questions: lines edited, moved, dropped or repeated, the oracle's word bent, figures made better."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial
from typing import Any

from kit.evidence.attack.deeds import add, assign, change, double, drop, edit, step_up, swap, together
from kit.evidence.attack.mutation import Deed, Mutation
from kit.evidence.attack.suspect import Content, Document, Suspect
from kit.evidence.audit.rules import GENERATED as FIGURES
from kit.evidence.audit.rules import GENERATED_LINES as LINES
from kit.evidence.audit.rules import GENERATED_STAGE

STAGE = f"stages/{GENERATED_STAGE}.json"
OTHER = "0" * 64


def mutations(clean: Content, chance: random.Random) -> Iterator[Mutation]:
    if not clean.has(LINES):
        return
    made = partial(Mutation, "asked", sealing="resealed")
    lines = clean.lines(LINES)
    n = chance.randrange(1, len(lines))
    for what, deed in {**of_a_line(n, lines[n]), **of_a_side(n, lines[n]), **of_the_file(len(lines))}.items():
        yield made(what, deed, files=(LINES, "verdict.json"))
    asked = [number for number, line in enumerate(lines) if number and line["oracle"]]
    for what, deed in of_the_oracle(chance.choice(asked)).items() if asked else ():
        yield made(what, deed, files=(LINES,))
    for what, deed in of_the_figures(clean.json(FIGURES)).items():
        yield made(what, deed, files=(FIGURES, STAGE))
    yield made("fewer questions than the profile asks for", drop(LINES, -1), files=(LINES, FIGURES, "verdict.json"))
    yield made("no line at all", change_lines(lambda found: found.__delitem__(slice(1, None))), files=(LINES, FIGURES))


def of_a_line(n: int, line: Document) -> dict[str, Deed]:
    """What a question is."""
    other = next(name for name in ("choice", "noul", "score") if name != line["type"])
    return {
        "another request's name": assign(LINES, n, "request", to="text-9999"),
        "another modality": change(LINES, n, "modality", by=lambda kind: "image" if kind == "text" else "text"),
        "a content of its own": assign(LINES, n, "content", to="0123456789abcdef"),
        "a content that is no digest": assign(LINES, n, "content", to="mine"),
        "a request's digest that is none": assign(LINES, n, "request_sha256", to="0" * 63),
        "the digest of another request": twice_the_request(n),
        "another type of question": assign(LINES, n, "type", to=other),
        "one candidate more": add(LINES, n, "candidates", item="extra"),
        "one candidate left": change(LINES, n, "candidates", by=lambda names: names[:1]),
        "a candidate twice": change(LINES, n, "candidates", by=lambda names: [names[0]] * len(names)),
        "an expected answer that is no candidate": assign(LINES, n, "expected", to="none of these"),
        "no tokens": assign(LINES, n, "tokens", to=0),
        "half a token": assign(LINES, n, "tokens", to=120.5),
        "a key too many": assign(LINES, n, "note", to="looked at"),
        "a key too few": drop(LINES, n, "tokens"),
    }


def of_a_side(n: int, line: Document) -> dict[str, Deed]:
    """What reference and candidate made of it."""
    logits = line["reference"]["logits"]
    one_up = step_up(logits)
    return {
        "one logit of the candidate one step up": assign(LINES, n, "candidate", "logits", to=one_up),
        "one logit of the candidate one step up, over another row": together(
            assign(LINES, n, "candidate", "logits", to=one_up), assign(LINES, n, "candidate", "hidden", to=OTHER)
        ),
        "a logit no BF16 head gives": assign(LINES, n, "reference", "logits", to="01" + logits[2:]),
        "a logit missing": change(LINES, n, "candidate", "logits", by=lambda text: text[8:]),
        "a logit cut short": change(LINES, n, "candidate", "logits", by=lambda text: text[:-1]),
        "a logit that is no number": assign(LINES, n, "candidate", "logits", to="0000c07f" + logits[8:]),
        "an infinite logit": assign(LINES, n, "candidate", "logits", to="0000807f" + logits[8:]),
        "a logit with another sign": assign(LINES, n, "candidate", "logits", to=zero_turned(logits)),
        "another hidden row": assign(LINES, n, "candidate", "hidden", to=OTHER),
        "a hidden row that is no digest": assign(LINES, n, "reference", "hidden", to="row"),
        "an unknown action": assign(LINES, n, "candidate", "action", to="guessed"),
        "an answer with an excuse": assign(LINES, n, "candidate", "why", to="a tie"),
    }


def twice_the_request(n: int) -> Deed:
    """A line that claims the request of the one before or behind it."""

    def deed(suspect: Suspect) -> None:
        edit(suspect, LINES, lambda lines: lines[n].update(request_sha256=lines[n - 1 if n > 1 else n + 1]["request_sha256"]))

    return deed


def zero_turned(logits: str) -> str:
    """The first value's sign turned."""
    return f"{logits[:6]}{int(logits[6:8], 16) ^ 0x80:02x}{logits[8:]}"


def of_the_file(count: int) -> dict[str, Deed]:
    """Lines as a whole."""
    return {
        "two lines exchanged": swap(LINES, 1, other=count - 1),
        "a line in another's place": change_lines(lambda found: found.__setitem__(2, found[1])),
        "a line repeated": double(LINES, 3),
        "a line dropped from the middle": drop(LINES, count // 2),
        "another seed": change(LINES, 0, "seed", by=lambda seed: seed + 1),
        "another generator": assign(LINES, 0, "generator", to="kit-prompts/0"),
        "another candidate": assign(LINES, 0, "candidate", to="reference"),
        "another format": assign(LINES, 0, "format", to="kit-generated/0"),
        "no header": drop(LINES, 0),
    }


def of_the_oracle(n: int) -> dict[str, Deed]:
    """What the truth is said to be."""
    return {
        "the candidate nearer to the oracle than its own row": change(LINES, n, "oracle", "candidate", by=lambda x: x / 2),
        "no error at all": together(assign(LINES, n, "oracle", "candidate", to=0.0), assign(LINES, n, "oracle", "reference", to=0.0)),
        "a negative error": assign(LINES, n, "oracle", "reference", to=-0.01),
        "an error in words": assign(LINES, n, "oracle", "candidate", to="small"),
        "an oracle's logit missing": change(LINES, n, "oracle", "logits", by=lambda text: text[16:]),
        "an oracle that gives no number": change(LINES, n, "oracle", "logits", by=lambda text: "000000000000f87f" + text[16:]),
        "an oracle that was not asked": assign(LINES, n, "oracle", to=None),
        "an oracle with an opinion": assign(LINES, n, "oracle", "verdict", to="near"),
    }


def of_the_figures(told: Document) -> dict[str, Deed]:
    """generated.json beside lines that say otherwise."""
    found: dict[str, Deed] = {
        "a smaller bound on the rate of flips": change(FIGURES, "all", "flip_rate_upper", by=lambda x: x / 2),
        "more questions than lines": change(FIGURES, "reached", by=lambda n: n + 1),
        "more contents": change(FIGURES, "all", "contents", by=lambda n: n + 1),
        "text left out": drop(FIGURES, "text"),
        "another tie rule": assign(FIGURES, "tie_rule", to="a tie is no flip"),
        "another confidence": assign(FIGURES, "confidence", to=0.5),
        "margins left out": assign(FIGURES, "margins", to=[]),
        "one right answer more": change(FIGURES, "labels", "candidate_right", by=lambda n: n + 1),
        "a flip in the figures alone": change(FIGURES, "all", "flips", by=lambda n: n + 1),
        "an unlimited budget that was limited": assign(FIGURES, "budget_s", to=77.0),
        "a reference that was called otherwise": assign(FIGURES, "how", "reference", to="asked"),
        "more replays than questions": assign(FIGURES, "how", "replays", to=10**6),
        "half a shape": assign(FIGURES, "how", "shapes", to=0.5),
        "time that ran backwards": assign(FIGURES, "seconds", "oracle", to=-1.0),
        "a key nobody knows": assign(FIGURES, "praise", to="very good"),
        "a stage that says more": change(STAGE, "result", "facts", "questions answered by both sides", by=lambda n: n + 1),
        "a stage that failed": assign(STAGE, "result", "passed", to=False),
        "a stage without its facts": assign(STAGE, "result", "facts", to={}),
    }
    if told["oracle"]:
        found["a better ratio of errors"] = change(FIGURES, "oracle", "hidden", "ratio", "upper", by=lambda x: x - 0.05)
        found["the oracle left out"] = assign(FIGURES, "oracle", to=None)
    return found


def change_lines(by: Any) -> Deed:
    def deed(suspect: Suspect) -> None:
        edit(suspect, LINES, by)

    return deed
