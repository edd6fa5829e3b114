"""Executed notebooks: other sources, outputs, counts, parameters and cells than the packed source gives; re-sealed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial
from typing import Any

from kit.evidence.attack.deeds import assign, change, double, drop, exchange, swap
from kit.evidence.attack.mutation import Deed, Mutation
from kit.evidence.attack.suspect import Content, Document

ERROR = {"output_type": "error", "ename": "ValueError", "evalue": "no", "traceback": []}
INJECTED = {
    "cell_type": "code", "execution_count": 99, "metadata": {"tags": ["injected-parameters"]}, "outputs": [],
    "source": ["rerun = False"],
}  # fmt: skip


def mutations(clean: Content, chance: random.Random) -> Iterator[Mutation]:
    names = [name for name in clean.names() if name.startswith("notebooks/") and name.endswith(".ipynb")]
    for name in chance.sample(names, 3):
        made = partial(Mutation, "notebooks", files=(name,), sealing="resealed")
        for what, deed in of_cells(name, clean.json(name)["cells"], chance).items():
            yield made(f"{name}: {what}", deed)
        yield made(f"{name}: every output taken out", stripped(name))
        yield made(f"{name}: the kernel died in the middle", died(name))
        yield made(f"{name}: run twice over", again(name))
    one, other = names[-2:]
    yield Mutation("notebooks", "two notebooks exchanged", exchange(one, other), (one, other), "resealed")


def of_cells(name: str, cells: list[Document], chance: random.Random) -> dict[str, Deed]:
    code = [i for i, cell in enumerate(cells) if cell["cell_type"] == "code" and not tags(cell) & {"parameters", "injected-parameters"}]
    here = chance.choice(code)
    verdict = next(i for i, cell in enumerate(cells) if "nbval-check-output" in tags(cell))
    parameters = next(i for i, cell in enumerate(cells) if "injected-parameters" in tags(cell))
    cell = (name, "cells", here)
    return {
        "another source": assign(*cell, "source", to=["print('all gates PASS')\n"]),
        "a line more in its source": change(*cell, "source", by=lambda source: [*source, "\npass"]),
        "a cell left out": drop(*cell),
        "a cell twice": double(*cell),
        "a cell added": change(name, "cells", by=lambda found: [*found, {**found[here], "source": ["pass"]}]),
        "two cells exchanged": swap(name, "cells", code[0], other=code[-1]),
        "a cell passed off as injected": change(name, "cells", by=lambda found: [*found, INJECTED]),
        "an error": change(*cell, "outputs", by=lambda found: [*found, ERROR]),
        "a count that jumps": change(*cell, "execution_count", by=lambda n: n + 5),
        "a cell that never ran": assign(*cell, "execution_count", to=None),
        "a verdict without an output": assign(name, "cells", verdict, "outputs", to=[]),
        "other parameters": change(name, "cells", parameters, "source", by=replaced("run_dir", "other_dir")),
        "parameters that compute": assign(name, "cells", parameters, "source", to=["run_dir = open('/etc/hostname').read()"]),
        "no cells": assign(name, "cells", to=[]),
        "markdown for code": assign(*cell, "cell_type", to="markdown"),
    }


def tags(cell: Document) -> set[str]:
    return set(cell.get("metadata", {}).get("tags", ()))


def replaced(old: str, new: str) -> Any:
    return lambda source: [line.replace(old, new) for line in ([source] if isinstance(source, str) else source)]


def stripped(name: str) -> Deed:
    def edit(document: Document) -> None:
        for cell in document["cells"]:
            cell.update({"outputs": []} if cell["cell_type"] == "code" else {})

    return lambda suspect: suspect.edit(name, edit)


def died(name: str) -> Deed:
    def edit(document: Document) -> None:
        for cell in document["cells"][len(document["cells"]) // 2 :]:
            cell.update({"outputs": [], "execution_count": None} if cell["cell_type"] == "code" else {})

    return lambda suspect: suspect.edit(name, edit)


def again(name: str) -> Deed:
    """As a person leaves it who ran some cells a second time."""

    def edit(document: Document) -> None:
        count = sum(cell["cell_type"] == "code" for cell in document["cells"])
        for cell in document["cells"][-3:]:
            cell.update({"execution_count": cell["execution_count"] + count} if cell.get("execution_count") else {})

    return lambda suspect: suspect.edit(name, edit)
