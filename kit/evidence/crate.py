"""ro-crate-metadata.json: what a catalogue wants to know of a bundle. Integrity is SHA256SUMS' business.

Covers: RO-Crate 1.3 with the Process Run Crate profile: the files, the profile and protocol as input, and one
CreateAction a stage with its times, its notebook, and FailedActionStatus where it did not finish.
Does not cover: people and licences of inputs that are not in the bundle.
"""

from __future__ import annotations

import json
import mimetypes
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

METADATA = "ro-crate-metadata.json"
SPECIFICATION = "https://w3id.org/ro/crate/1.3"
PROCESS_RUN = "https://w3id.org/ro/wfrun/process/0.6"
LICENSE = "https://spdx.org/licenses/Apache-2.0"
SENTINEL = "finished"
INPUTS = ("profile.json", "protocol/corpus.jsonl")
TYPES = {
    ".jsonl": "application/jsonl",
    ".toml": "application/toml",
    ".ipynb": "application/x-ipynb+json",
    ".log": "text/plain",
}


def metadata(run_dir: str | Path, files: Sequence[str]) -> bytes:
    """The document for a run folder. files: names of everything in the bundle but SHA256SUMS and this file."""
    run = Path(run_dir)
    facts, verdict = _read(run / "run.json"), _read(run / "verdict.json")
    actions = list(_actions(run))
    listed = sorted({*files} - {METADATA})
    graph: list[dict[str, Any]] = [
        {
            "@id": METADATA,
            "@type": "CreativeWork",
            "about": {"@id": "./"},
            "conformsTo": {"@id": SPECIFICATION},
        },
        {
            "@id": "./",
            "@type": "Dataset",
            "name": f"Evidence of run {facts['id']}",
            "description": f"Claim {verdict.get('claim')} of profile {facts['profile']}, verdict {verdict.get('verdict')}: "
            f"{verdict.get('scope')}",
            "datePublished": max((a["endTime"] for a in actions if "endTime" in a), default=facts["started_utc"]),
            "license": {"@id": LICENSE},
            "conformsTo": {"@id": PROCESS_RUN},
            "hasPart": [{"@id": name} for name in listed],
            "mentions": [{"@id": action["@id"]} for action in actions],
        },
        {"@id": PROCESS_RUN, "@type": "CreativeWork", "name": "Process Run Crate", "version": "0.6"},
        {"@id": LICENSE, "@type": "CreativeWork", "name": "Apache License 2.0"},
        *({"@id": name, "@type": "File", "encodingFormat": _type_of(name)} for name in listed),
        *(
            {"@id": f"#notebook-{action['name']}", "@type": "SoftwareApplication", "name": f"notebooks/{action['name']}.ipynb",
             "softwareVersion": facts["kit_version"]}
            for action in actions
        ),
        *actions,
    ]  # fmt: skip
    document = {"@context": f"{SPECIFICATION}/context", "@graph": graph}
    return (json.dumps(document, ensure_ascii=False, indent=1, sort_keys=True) + "\n").encode()


def _actions(run: Path) -> Iterator[dict[str, Any]]:
    """One action a stage that was begun, in order of their names."""
    for notebook in sorted((run / "notebooks").glob("*.ipynb")):
        stage, result = notebook.stem, run / "stages" / f"{notebook.stem}.json"
        times = _read(notebook).get("metadata", {}).get("papermill", {})
        finished = result.exists() and _read(result).get("sentinel") == SENTINEL
        outputs = [f"notebooks/{notebook.name}", *([f"stages/{result.name}"] if result.exists() else [])]
        action: dict[str, Any] = {
            "@id": f"#stage-{stage}",
            "@type": "CreateAction",
            "name": stage,
            "instrument": {"@id": f"#notebook-{stage}"},
            "object": [{"@id": name} for name in INPUTS if (run / name).exists()],
            "result": [{"@id": name} for name in outputs],
            "actionStatus": {
                "@id": f"http://schema.org/{'CompletedActionStatus' if finished else 'FailedActionStatus'}"
            },
        }
        for name, key in (("startTime", "start_time"), ("endTime", "end_time")):
            if times.get(key):
                action[name] = times[key]
        if not finished:
            action["error"] = "the stage did not finish; its notebook shows where it ended"
        yield action


def _type_of(name: str) -> str:
    suffix = Path(name).suffix
    return TYPES.get(suffix) or mimetypes.types_map.get(suffix) or "application/octet-stream"


def _read(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return document
