"""ro-crate-metadata.json: what a catalogue wants to know of a bundle. Integrity is SHA256SUMS' business.

Covers: RO-Crate 1.3 with the Process Run Crate 0.6 profile: every file with its size, SHA-256 and what it is;
profile and protocol as input; one CreateAction for the run and one for each stage that was begun, with times and
FailedActionStatus where it did not finish. JSON with sorted keys, so that equal bundles have equal documents.
Does not cover: people. A bundle has the names taken out, so it states no author, agent or publisher (the
specification only recommends them); who vouches for it is said by a detached signature (`kit.evidence.signing`).
SHA256SUMS is not described, since it lists this file's own digest.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from kit.evidence.file_roles import describe, media_type
from kit.evidence.records import sha256_file

METADATA = "ro-crate-metadata.json"
SPECIFICATION = "https://w3id.org/ro/crate/1.3"
PROCESS_RUN = "https://w3id.org/ro/wfrun/process/0.6"
LICENSE = "https://spdx.org/licenses/Apache-2.0"
COMPLETED, FAILED = "http://schema.org/CompletedActionStatus", "http://schema.org/FailedActionStatus"
SENTINEL = "finished"
SOURCES = "source.tar.gz"
INPUTS = ("profile.json", "profile.toml", "protocol/corpus.jsonl")
OUTCOMES = (
    "verdict.json", "drift.json", "counters.json", "operators.json", "performance.json", "report.html",
)  # fmt: skip
KEPT = "/!$&'()*+,;=@~"  # of the characters that a path in an @id may hold as they are; others are escaped

Entity = dict[str, Any]


def metadata(run_dir: str | Path, files: Sequence[str]) -> bytes:
    """The document for a run folder. files: names of everything in the bundle but SHA256SUMS and this file."""
    run, listed = Path(run_dir), sorted({*files} - {METADATA})
    facts, verdict = _read(run / "run.json"), _read(run / "verdict.json")
    stages = list(_stage_actions(run, listed))
    actions = [_run_action(facts, verdict, listed, stages), *stages]
    graph = [
        _descriptor(),
        _root(facts, verdict, listed, actions),
        *_context(actions),
        *_software(facts, listed, [stage["name"] for stage in stages]),
        *actions,
        *(_file(run, name) for name in listed),
    ]
    document = {"@context": f"{SPECIFICATION}/context", "@graph": graph}
    return (json.dumps(document, ensure_ascii=False, indent=1, sort_keys=True) + "\n").encode()


def identifier(name: str) -> str:
    """A file's name as the relative reference that names its entity; characters beyond ASCII stay as they are."""
    return "".join(character if ord(character) > 127 else quote(character, safe=KEPT) for character in name)


def _descriptor() -> Entity:
    return {
        "@id": METADATA,
        "@type": "CreativeWork",
        "about": _to("./"),
        "conformsTo": _to(SPECIFICATION),
        "description": "RO-Crate metadata descriptor (this file)",
        "name": METADATA,
    }


def _root(facts: Entity, verdict: Entity, listed: Sequence[str], actions: Sequence[Entity]) -> Entity:
    claim = f"Claim {verdict.get('claim')} of profile {facts['profile']}, verdict {verdict.get('verdict')}"
    missing = "; ".join(verdict.get("not_covered", ()))
    return {
        "@id": "./",
        "@type": "Dataset",
        "conformsTo": _to(PROCESS_RUN),
        "datePublished": max((a["endTime"] for a in actions if "endTime" in a), default=_time(facts["started_utc"])),
        "description": f"{claim}. Scope: {verdict.get('scope')}." + (f" Not covered: {missing}." if missing else ""),
        "hasPart": _all(identifier(name) for name in listed),
        "license": _to(LICENSE),
        "mentions": _all(action["@id"] for action in actions),
        "name": f"Evidence of run {facts['id']}",
    }


def _context(actions: Sequence[Entity]) -> list[Entity]:
    """What the others refer to: the profile, the licence, and how actions ended."""
    ended = [action["actionStatus"] for action in actions]
    return [
        {
            "@id": PROCESS_RUN,
            "@type": ["CreativeWork", "Profile"],
            "description": "A series of processes, what they used and what they made",
            "name": "Process Run Crate",
            "version": "0.6",
        },
        {
            "@id": LICENSE,
            "@type": "CreativeWork",
            "description": "A permissive licence whose main conditions are to keep copyright and licence notices",
            "name": "Apache License 2.0",
        },
        *(
            {"@id": status, "@type": "ActionStatusType", "description": f"The process {word}", "name": word}
            for status, word in ((COMPLETED, "completed"), (FAILED, "failed"))
            if _to(status) in ended
        ),
    ]


def _software(facts: Entity, listed: Sequence[str], stages: Iterable[str]) -> Iterator[Entity]:
    """The kit, and the notebook of each stage; both are in the packed sources of the same bundle."""
    common: Entity = {"@type": "SoftwareApplication", "version": facts["kit_version"]}
    if SOURCES in listed:
        common["url"] = _to(SOURCES)
    yield {
        **common,
        "@id": "#kit",
        "description": "Qualifies an inference engine of a decision model against its official reference",
        "name": "decision-kit",
    }
    for stage in stages:
        yield {
            **common,
            "@id": f"#notebook-{stage}",
            "description": f"The notebook of stage {stage}",
            "isPartOf": _to("#kit"),
            "name": f"notebooks/{stage}.ipynb",
        }


def _run_action(facts: Entity, verdict: Entity, listed: Sequence[str], stages: Sequence[Entity]) -> Entity:
    """The run as a whole. It failed if a stage did; a verdict of fail is an outcome of a run that completed."""
    unfinished = [stage["name"] for stage in stages if stage["actionStatus"] != _to(COMPLETED)]
    return _action(
        "#run",
        f"Run {facts['id']}",
        f"python -m kit run on profile {facts['profile']}, verdict {verdict.get('verdict')}",
        instrument="#kit",
        used=[name for name in INPUTS if name in listed],
        made=[name for name in OUTCOMES if name in listed],
        times=(facts["started_utc"], max((s["endTime"] for s in stages if "endTime" in s), default=None)),
        error="" if stages and not unfinished else f"not finished: {', '.join(unfinished) or 'every stage'}",
    )


def _stage_actions(run: Path, listed: Sequence[str]) -> Iterator[Entity]:
    """One action a stage that was begun, in order of their names."""
    for notebook in sorted((run / "notebooks").glob("*.ipynb")):
        stage, result = notebook.stem, run / "stages" / f"{notebook.stem}.json"
        document = _read(notebook)
        times = document.get("metadata", {}).get("papermill", {})
        finished = result.exists() and _read(result).get("sentinel") == SENTINEL
        yield _action(
            f"#stage-{stage}",
            stage,
            f"Stage {stage}, executed by papermill",
            instrument=f"#notebook-{stage}",
            used=[name for name in INPUTS if name in listed],
            made=[name for name in (f"notebooks/{notebook.name}", f"stages/{result.name}") if name in listed],
            times=(times.get("start_time"), times.get("end_time")),
            error="" if finished else "the stage did not finish; its notebook shows where it ended",
        )


def _action(
    identity: str,
    name: str,
    description: str,
    *,
    instrument: str,
    used: Sequence[str],
    made: Sequence[str],
    times: tuple[str | None, str | None],
    error: str,
) -> Entity:
    action: Entity = {
        "@id": identity,
        "@type": "CreateAction",
        "actionStatus": _to(FAILED if error else COMPLETED),
        "description": description,
        "instrument": _to(instrument),
        "name": name,
    }
    for key, names in (("object", used), ("result", made)):
        if names:
            action[key] = _all(map(identifier, names))
    for key, moment in zip(("startTime", "endTime"), times, strict=True):
        if moment:
            action[key] = _time(moment)
    return action | ({"error": error} if error else {})


def _file(run: Path, name: str) -> Entity:
    path = run / name
    return {
        "@id": identifier(name),
        "@type": "File",
        "contentSize": str(path.stat().st_size),
        "description": describe(name),
        "encodingFormat": media_type(name),
        "name": name,
        "sha256": sha256_file(path),
    }


def _to(identity: str) -> dict[str, str]:
    return {"@id": identity}


def _all(identities: Iterable[str]) -> Any:
    """References to several entities; a single one stands alone, as compacted JSON-LD has it."""
    references = [_to(identity) for identity in identities]
    return references[0] if len(references) == 1 else references


def _time(text: str) -> str:
    """A moment to the millisecond with its offset; left as it is where it has none."""
    moment = datetime.fromisoformat(text)
    return moment.isoformat(timespec="milliseconds") if moment.tzinfo else text


def _read(path: Path) -> Entity:
    document: Entity = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return document
