"""From a run folder to a bundle: complete it, take names out, describe it, and close it with SHA256SUMS.

Covers: `seal(run_dir)` (also of a failed run, which says so) and `pack(run_dir)`, a deterministic tar.gz.
Order: sources are hashed once more, logs and notebooks are scrubbed, audit.py, report.html and
ro-crate-metadata.json are written, every text is searched for traces of this machine, SHA256SUMS comes last.
A sealed folder is never written to again. Raw records and the profile are never edited: a trace in them stops
the sealing. Does not cover: judging the bundle (`kit.evidence.auditing`).
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from kit.evidence import audit, crate, manifest, privacy, provenance, report, source_archive
from kit.evidence.records import sha256_bytes, write_atomic, write_json
from kit.profile import PROJECT_ROOT

# Texts written by other programs, or by a notebook's cells; everything else is ours and must be clean as it is.
SCRUBBED = ("logs/", "attempts/", "notebooks/", "stages/")
LEFTOVERS = ("__pycache__", ".ipynb_checkpoints")


class PackageError(RuntimeError):
    """The folder cannot be made a bundle; the message says what to do."""


def seal(
    run_dir: str | Path, root: str | Path = PROJECT_ROOT, identity: privacy.Identity | None = None
) -> str:
    """Make a run folder a bundle and return the SHA-256 of its SHA256SUMS, the digest to publish elsewhere.

    root: where the sources are. Raises PackageError for a folder that is sealed, has no verdict, or shows
    whose machine it comes from.
    """
    run = Path(run_dir)
    if (run / manifest.SUMS).exists():
        raise PackageError(f"{run.name} is sealed; a bundle is never written to again")
    for name in ("run.json", "verdict.json"):
        if not (run / name).exists():
            raise PackageError(f"{run.name} has no {name}, so there is nothing to seal; finish the run first")
    who = identity or privacy.this_machine(root)
    remove_leftovers(run)
    close_sources(run, root)
    scrub_texts(run, who)
    write_atomic(run / "audit.py", audit.joined().encode())
    write_atomic(run / "report.html", report.render(run).encode())
    described = [*manifest.list_files(run), crate.METADATA]
    write_atomic(run / crate.METADATA, crate.metadata(run, sorted(set(described))))
    refuse_traces(run, who)
    return sha256_bytes(manifest.write_sums(run).encode())


def remove_leftovers(run: Path) -> None:
    """Drop what interrupted writers left: hidden temporary files, caches; and folders nothing was put into.

    A bundle is a list of files: an archive, or git, would lose an empty folder.
    """
    for path in sorted(run.rglob("*"), reverse=True):
        if path.is_dir() and path.name in LEFTOVERS:
            shutil.rmtree(path)
        elif path.is_dir() and not path.is_symlink() and not any(path.iterdir()):
            path.rmdir()
        elif path.is_file() and path.name.startswith("."):
            path.unlink()


def close_sources(run: Path, root: str | Path) -> None:
    """Hash and pack the sources as they are now. A change since the verdict shows, and fails the audit."""
    file = run / "sources.json"
    document = _read(file) if file.exists() else {}
    write_json(file, provenance.sources_after(run, document.get("before", {}), root))


def scrub_texts(run: Path, identity: privacy.Identity) -> None:
    """Take paths and names out of logs, notebooks, stage results and failed attempts."""
    for name in manifest.list_files(run):
        text = privacy.as_text((run / name).read_bytes()) if name.startswith(SCRUBBED) else None
        if text is None:
            continue
        clean = privacy.scrub(text, identity)
        if clean != text:
            write_atomic(run / name, clean.encode())


def refuse_traces(run: Path, identity: privacy.Identity) -> None:
    """Raise PackageError if any text still shows whose machine this is."""
    found = privacy.traces_in(run, manifest.list_files(run), identity)
    if found:
        raise PackageError(
            f"{run.name} is not sealed: it would show whose machine made it. {'; '.join(found[:5])}"
            + (f"; and {len(found) - 5} more" if len(found) > 5 else "")
            + ". Use paths relative to the project in profiles and protocols, then seal again"
        )


def pack(run_dir: str | Path, target: str | Path = "") -> Path:
    """A sealed bundle as one deterministic tar.gz, `<run>.tar.gz` beside it unless `target` names a file.

    Raises PackageError when the folder is not sealed or differs from its SHA256SUMS.
    """
    run = Path(run_dir)
    if not (run / manifest.SUMS).exists():
        raise PackageError(f"{run.name} is not sealed, so it cannot be packed")
    problems = manifest.verify_sums(run)
    if problems:
        raise PackageError(f"{run.name} was changed after it was sealed: {problems[0]}")
    names = [*manifest.list_files(run), *(name for name in manifest.NOT_LISTED if (run / name).exists())]
    file = Path(target) if target else run.with_name(f"{run.name}.tar.gz")
    write_atomic(
        file, source_archive.pack((f"{run.name}/{name}", (run / name).read_bytes()) for name in names)
    )
    return file


def read_verdict(run_dir: str | Path) -> dict[str, Any]:
    """verdict.json of a run."""
    return _read(Path(run_dir) / "verdict.json")


def _read(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return document
