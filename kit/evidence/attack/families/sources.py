"""The packed sources, their digests, and the auditor: edited, mixed, or replaced by one that says pass; re-sealed."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from functools import partial

from kit.evidence.attack.deeds import assign, change, drop, write
from kit.evidence.attack.mutation import Deed, Mutation
from kit.evidence.attack.suspect import Content, Suspect, as_text
from kit.evidence.records import sha256_bytes
from kit.evidence.source_archive import pack, unpack

NAME, ARCHIVE, AUDITOR = "sources.json", "source.tar.gz", "audit.py"
SAYS_PASS = b"import json\nprint(json.dumps({'audit': 'pass', 'problems': [], 'problem_count': 0}))\n"
Files = dict[str, bytes]


def mutations(clean: Content, chance: random.Random) -> Iterator[Mutation]:
    made = partial(Mutation, "sources", sealing="resealed")
    listed = sorted(clean.json(NAME)["after"])
    here = chance.choice(listed)
    for what, deed in {
        "a file changed during the run": assign(NAME, "before", here, to="0" * 64),
        "a file that appeared during the run": drop(NAME, "before", here),
        "a file that vanished during the run": drop(NAME, "after", here),
        "a file of another digest": both_digests(here, "0" * 64),
        "a file that is not packed": both_digests("kit/more.py", "0" * 64),
        "no files": change(NAME, "after", by=lambda _: {}),
        "nothing from before": assign(NAME, "before", to={}),
        "another archive": assign(NAME, "archive_sha256", to="0" * 64),
        "another format": assign(NAME, "format", to="kit-sources/9"),
    }.items():
        yield made(what, deed, (NAME, ARCHIVE, here))
    for what, edit in {
        "a file less packed": lambda files: files.pop(here),
        "a file edited in the archive": lambda files: files.update({here: files[here] + b"\n"}),
        "a file more packed": lambda files: files.update({"kit/more.py": b""}),
    }.items():
        yield made(what, repacked(edit, listed_too=False), (ARCHIVE, NAME, here, "kit/more.py"))
    notebook = next(name for name in listed if name.startswith("notebooks/"))
    yield made("a notebook's source edited as the run's", repacked(partial(other_cell, notebook)), (notebook,))
    yield made("no notebook packed", repacked(lambda files: files.pop(notebook)), (notebook,))
    yield made("an op taken out of the table", repacked(op_less), ("operators.json", ARCHIVE))
    yield from of_auditor(clean)


def of_auditor(clean: Content) -> Iterator[Mutation]:
    made = partial(Mutation, "sources", files=(AUDITOR, ARCHIVE), sealing="resealed")
    own = clean.read(AUDITOR)
    for what, data in {
        "an auditor that says pass": SAYS_PASS,
        "an auditor with one bound widened": own.replace(b"SLACK = 1e-12", b"SLACK = 1e-02"),
        "an auditor with a line more": own + b"\n",
        "an empty auditor": b"",
    }.items():
        yield made(what, write(AUDITOR, data))
        yield made(f"{what}, packed too", together_with_sources(data))
    yield Mutation("sources", "an auditor that says pass, not re-sealed", write(AUDITOR, SAYS_PASS), (AUDITOR,))


def both_digests(name: str, digest: str) -> Deed:
    def deed(suspect: Suspect) -> None:
        suspect.edit(NAME, lambda document: [document[when].update({name: digest}) for when in ("before", "after")])

    return deed


def repacked(edit: Callable[[Files], object], *, listed_too: bool = True) -> Deed:
    """The archive packed again after an edit; its digest is put right, and those of its files where that is asked."""

    def deed(suspect: Suspect) -> None:
        files = dict(unpack(suspect.read(ARCHIVE)))
        edit(files)
        data = pack(files.items())
        if listed_too:
            suspect.write(ARCHIVE, data)
        else:
            suspect.put(ARCHIVE, data)
            suspect.edit(NAME, lambda document: document.update(archive_sha256=sha256_bytes(data)))

    return deed


def other_cell(name: str, files: Files) -> None:
    """The last cell of a notebook's source with a line more than the executed one has."""
    document = json.loads(files[name])
    cell = document["cells"][-1]
    cell["source"] = [*cell["source"], "\npass"] if isinstance(cell["source"], list) else cell["source"] + "\npass"
    files[name] = as_text(document)


def op_less(files: Files) -> None:
    """One op fewer in the source of the table than operators.json compares."""
    table = files["kit/kernels/table.py"].decode().split("\n")
    start = next(i for i, line in enumerate(table) if line.startswith("class Ops"))
    place = next(i for i in range(start, len(table)) if ": Callable" in table[i])
    files["kit/kernels/table.py"] = "\n".join(table[:place] + table[place + 1 :]).encode()


def together_with_sources(data: bytes) -> Deed:
    """The auditor in the bundle and the one packed, where the sources have it as one file."""

    def deed(suspect: Suspect) -> None:
        suspect.write(AUDITOR, data)
        name = "kit/evidence/audit.py"
        repacked(lambda files: files.update({name: data}))(suspect)

    return deed
