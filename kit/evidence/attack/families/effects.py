"""signal.json: how far inputs move the reference, edited with and without its summary; all re-sealed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial

from kit.evidence.attack.deeds import assign, change, drop
from kit.evidence.attack.mutation import Deed, Mutation
from kit.evidence.attack.suspect import Content, Document, Suspect
from kit.evidence.audit.effects import signal_summary

NAME = "signal.json"


def mutations(clean: Content, chance: random.Random) -> Iterator[Mutation]:
    if not clean.has(NAME):
        return
    made = partial(Mutation, "effects", files=(NAME,), sealing="resealed")
    here = chance.randrange(len(clean.json(NAME)["questions"]))
    question = (NAME, "questions", here)
    summed: dict[str, Deed] = {
        "questions left out": change(NAME, "questions", by=lambda found: found[:3]),
        "a question twice": change(NAME, "questions", by=lambda found: [found[0], *found]),
        "no questions": assign(NAME, "questions", to=[]),
        "a question nobody asked": assign(*question, "question", to="other"),
        "a request nobody sent": assign(*question, "request", to="other"),
        "another modality": change(*question, "modality", by=lambda m: "image" if m == "text" else "text"),
        "another token count": change(*question, "tokens", by=lambda n: n + 1),
        "other logits than recorded": change(*question, "logits", by=lambda found: [found[0] - 4, found[1] + 4]),
        "another probability than answered": change(*question, "probability", by=lambda p: p / 2),
        "a floor below nothing": assign(*question, "floor", "row", to=-1.0),
    }
    for what, deed in summed.items():
        yield made(what, with_summary(deed))
    for what, deed in {
        "a floor edited, summary left": assign(*question, "floor", "row", to=1e-9),
        "a summary edited": assign(NAME, "summary", "ratio", "swap", "row", to=99.0),
        "no summary": drop(NAME, "summary"),
        "of other weights": assign(NAME, "checkpoint_digest", to="1" * 64),
        "another floor": assign(NAME, "floor", to="two runs of the reference"),
        "another format": assign(NAME, "format", to="kit-signal/9"),
    }.items():
        yield made(what, deed)


def with_summary(deed: Deed) -> Deed:
    """A deed, and the summary that follows from it where one still does."""

    def both(suspect: Suspect) -> None:
        deed(suspect)

        def edit(document: Document) -> None:
            if document["questions"]:
                document["summary"] = signal_summary(document["questions"])

        suspect.edit(NAME, edit)

    return both
