"""Where a profile's checkpoint is on this machine, made on first use where it can be made.

Covers: `locate(profile)`, the only thing engines need, and what the `kit checkpoint` commands call: `make`,
`inventory`, `verify`, `fetch`, `export_to`. Does not cover: loading tensors (`kit.model.weights`, Transformers).
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kit.checkpoint import hub
from kit.checkpoint.files import CheckpointError, cache_root, digest_of, hash_files
from kit.checkpoint.tokens import Tokenizer, from_qwen_package, load_tokenizer
from kit.contract.answer import Calibration
from kit.evidence.records import sha256_file
from kit.profile import Checkpoint, from_root

if TYPE_CHECKING:
    from kit.checkpoint.synthetic import Plan
    from kit.profile import Profile

__all__ = [
    "CheckpointError",
    "CheckpointFiles",
    "export_to",
    "fetch",
    "find_tokenizer",
    "inventory",
    "locate",
    "make",
    "verify",
]


@dataclass(frozen=True)
class CheckpointFiles:
    """A checkpoint on disk: two folders, the digest that names their content, and where they came from.

    plan: what makes the tensors where the folders hold none, only config, tokenizer and settings; else None.
    head_rows: leading rows of the untied head that an export holds; None where the whole head is there.
    `kit.model.weights.base_store` and `adapter_store` open either kind.
    """

    base: Path
    adapter: Path
    digest: str
    calibration: Calibration
    source: str
    plan: Plan | None = None
    head_rows: int | None = None


def locate(profile: Profile) -> CheckpointFiles:
    """Find the checkpoint of a profile, generating a synthetic one into the cache on first use.

    Synthetic: every file is hashed and must give the pinned digest (with the recipe of every tensor, where the
    tensors are made at load and never written). Folder: every file is hashed, and must give the pinned digest where
    the profile pins one; else the digest names what was found.
    Export: every file must be the one its marker names. Hub: every pinned file must be there, lead nowhere else,
    and be unchanged (size and time) since `verify` read it on this machine; 55 GB are not hashed again. Raises
    CheckpointError saying what to do.
    """
    checkpoint = profile.checkpoint
    if checkpoint.kind == "synthetic":
        return _synthetic(checkpoint)
    if checkpoint.kind == "folder":
        return _folder(checkpoint)
    if checkpoint.kind == "export":
        return _export(checkpoint)
    pins = hub.pins_of(profile)
    base, adapter = hub.find(profile, pins)
    hub.check_note(profile, pins, base, adapter)
    return _files(base, adapter, pins.digest(), _hub_source(checkpoint))


def _folder(checkpoint: Checkpoint) -> CheckpointFiles:
    base, adapter = from_root(checkpoint.base), from_root(checkpoint.adapter)
    for named, folder in ((checkpoint.base, base), (checkpoint.adapter, adapter)):
        if not any(folder.glob("*.safetensors")):
            raise CheckpointError(
                f"{named}: holds no weights, expected *.safetensors; a trained checkpoint is made by "
                "`python -m kit.checkpoint.training` and put there by `python -m kit.checkpoint.training.export`"
            )
    hashes = {f"base/{name}": sha for name, sha in hash_files(base).items()}
    hashes |= {f"adapter/{name}": sha for name, sha in hash_files(adapter).items()}
    found, folders = digest_of(hashes), f"folders {checkpoint.base} and {checkpoint.adapter}"
    if checkpoint.digest not in ("", found):
        raise CheckpointError(
            f"{folders}: their files give digest {found}, the profile pins {checkpoint.digest}; a file was changed, "
            "added or removed: bring the original back (git restore, where git holds it), or take the digest out of "
            "the profile to use the folders as they are"
        )
    return _files(base, adapter, found, folders)


def _export(checkpoint: Checkpoint) -> CheckpointFiles:
    from kit.checkpoint.exported import open_export

    folder = from_root(checkpoint.base)
    marker = open_export(folder, checkpoint.digest)
    files = _files(folder / "base", folder / "adapter", marker.digest, f"export of {marker.source}")
    return replace(files, head_rows=marker.contract["head_rows"])


def _hub_source(checkpoint: Checkpoint) -> str:
    return (
        f"{checkpoint.base}@{checkpoint.base_revision[:12]} with "
        f"{checkpoint.adapter}@{checkpoint.adapter_revision[:12]}"
    )


def find_tokenizer(profile: Profile) -> Tokenizer | None:
    """The tokenizer of a profile if it can be had without weights or network, else None.

    Synthetic: the committed file, or the package whose vocabulary the recipe has. Folder and export: the one in
    it. Hub: the pinned file, if it alone is on disk with the right bytes.
    """
    from kit.checkpoint.recipes import RECIPES

    checkpoint = profile.checkpoint
    if checkpoint.kind == "synthetic":
        recipe = RECIPES[checkpoint.generator]
        return from_qwen_package() if recipe.package_tokenizer else load_tokenizer(recipe.static / "base")
    if checkpoint.kind == "folder":
        return load_tokenizer(from_root(checkpoint.base))
    if checkpoint.kind == "export":
        return load_tokenizer(from_root(checkpoint.base) / "base")
    path = hub.find_file(hub.pins_of(profile), "tokenizer.json")
    return load_tokenizer(path.parent) if path else None


def _files(base: Path, adapter: Path, digest: str, source: str) -> CheckpointFiles:
    return CheckpointFiles(base, adapter, digest, read_calibration(adapter), source)


def read_calibration(adapter: Path) -> Calibration:
    """Temperatures and threshold from `decision_config.json` of the adapter folder."""
    path = adapter / "decision_config.json"
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return Calibration(
            temperature=float(data["temperature"]),
            mm_temperature=float(data["mm_temperature"]),
            threshold=None if data.get("threshold") is None else float(data["threshold"]),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{path}: needs numbers `temperature` and `mm_temperature`: {error!r}") from error


def _synthetic(checkpoint: Checkpoint) -> CheckpointFiles:
    """The cached folder of a synthetic checkpoint, made when it is not there."""
    from kit.checkpoint import synthetic

    plan = synthetic.plan(checkpoint.generator, checkpoint.seed)
    store = cache_root() / "checkpoints"
    folder = store / f"{checkpoint.generator}-{checkpoint.digest[:12]}"
    if not folder.is_dir():
        store.mkdir(parents=True, exist_ok=True)
        with _locked(store):
            if not folder.is_dir():  # another process may have made it while this one waited
                _generate(plan, checkpoint.digest, store, folder)
    found = _digest(plan, folder)
    if found != checkpoint.digest:
        raise CheckpointError(
            f"{folder}: its files give digest {found}, the profile pins {checkpoint.digest}; "
            "something changed them: delete that folder and run again"
        )
    source = f"generator {plan.generator}, seed {plan.seed}"
    files = _files(folder / "base", folder / "adapter", checkpoint.digest, source)
    return files if plan.recipe.files else replace(files, plan=plan)


def _digest(plan: Plan, folder: Path) -> str:
    """Of the files where they hold the tensors, else of the small files and the recipe of every tensor."""
    from kit.checkpoint.generated import digest_of_plan

    return digest_of(hash_files(folder)) if plan.recipe.files else digest_of_plan(plan, folder)


def _generate(plan: Plan, digest: str, store: Path, folder: Path) -> None:
    """Write beside the final place, check the digest, and rename; needs the lock."""
    from kit.checkpoint import generated, synthetic

    for leftover in store.glob(".making-*"):  # of a killed process: nobody else can be writing now
        shutil.rmtree(leftover)
    temporary = Path(tempfile.mkdtemp(prefix=".making-", dir=store))
    try:
        if plan.recipe.files:
            synthetic.write(plan.generator, plan.seed, temporary)
        else:
            generated.write_static(plan, temporary)
        found = _digest(plan, temporary)
        if found != digest:
            raise CheckpointError(
                f"generator {plan.generator} with seed {plan.seed} made digest {found}, the profile pins {digest}; "
                "the generator, its recipe, a file in kit/checkpoint or the tokenizer's package is another"
            )
        os.chmod(temporary, 0o755)
        os.replace(temporary, folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


@contextmanager
def _locked(store: Path) -> Iterator[None]:
    """One process at a time; the lock is released by the system when its holder dies."""
    with (store / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def make(profile: Profile) -> dict[str, Any]:
    """Generate (or find) a synthetic checkpoint and say where it is."""
    if profile.checkpoint.kind != "synthetic":
        raise CheckpointError(
            f"profile {profile.name} has a checkpoint of kind {profile.checkpoint.kind!r}: nothing to make"
        )
    return _report(profile, locate(profile), [])


def inventory(profile: Profile) -> dict[str, Any]:
    """Every file's SHA-256 and every tensor's name, dtype and shape; reads every byte there is on disk."""
    from kit.checkpoint import contents, generated

    files = locate(profile)
    if files.plan is not None:
        return {"profile": profile.name} | generated.inventory(files.plan, files.base.parent, files.source)
    return {"profile": profile.name} | contents.inventory(files)


def verify(profile: Profile) -> dict[str, Any]:
    """Read every byte of the profile's checkpoint and list every problem; `problems` is empty when intact.

    For a hub checkpoint a clean result is noted, and `locate` accepts the files from then on.
    """
    from kit.checkpoint.contents import verify as problems_of
    from kit.checkpoint.generated import verify as generated_problems

    if profile.checkpoint.kind == "export":
        return _report(profile, locate(profile), [])  # reads every byte, or says what is wrong
    if profile.checkpoint.kind != "hub":
        files = locate(profile)
        if files.plan is not None:
            return _report(profile, files, generated_problems(files.plan, files.base.parent, files.digest))
        return _report(profile, files, problems_of(files))
    pins = hub.pins_of(profile)
    base, adapter = hub.find(profile, pins)
    files = _files(base, adapter, pins.digest(), _hub_source(profile.checkpoint))
    problems = problems_of(files, pins)
    if not problems:
        hub.write_note(pins, base, adapter)
    return _report(profile, files, problems)


def fetch(profile: Profile) -> dict[str, Any]:
    """Download a hub checkpoint at its pinned commits (continuing an interrupted download), then `verify`.

    A file with wrong bytes is removed, so that running the command again loads it afresh. A checkpoint of
    another kind is only verified: there is nothing to download.
    """
    if profile.checkpoint.kind != "hub":
        return verify(profile)
    pins = hub.pins_of(profile)
    base, adapter = hub.download(pins)
    wrong = [
        name
        for name, sha in pins.hashes().items()
        if sha256_file((base if name.startswith("base/") else adapter) / name.partition("/")[2]) != sha
    ]
    if wrong:
        hub.drop(pins, wrong)
        raise CheckpointError(
            f"{len(wrong)} downloaded files did not have their pinned SHA-256 and were removed: "
            f"{', '.join(wrong[:8])}; run the command again"
        )
    return verify(profile)


def export_to(profile: Profile, folder: str | Path) -> dict[str, Any]:
    """Verify a checkpoint and make (or finish) its export in `folder`; see `kit.checkpoint.export`.

    A checkpoint from the hub has been verified when it was fetched, and its files have not changed since.
    """
    from kit.checkpoint import contents
    from kit.checkpoint.export import export

    if profile.checkpoint.kind == "export":
        raise CheckpointError(f"profile {profile.name} names an export already: export what it was made from")
    files = locate(profile)
    if profile.checkpoint.kind == "hub":
        inputs = hub.pins_of(profile).hashes()
    else:
        if problems := contents.verify(files) if files.plan is None else []:
            raise CheckpointError(f"{files.source}: not fit to be exported: {'; '.join(problems)}")
        inputs = contents.checkpoint_hashes(files)
    marker = export(files, Path(folder), inputs)
    return {
        "profile": profile.name,
        "folder": str(folder),
        "digest": marker.digest,
        "fingerprint": marker.fingerprint(),
        "files": len(marker.files),
        "bytes": sum(entry.bytes for entry in marker.files.values()),
        "problems": [],
    }


def _report(profile: Profile, files: CheckpointFiles, problems: list[str]) -> dict[str, Any]:
    return {
        "profile": profile.name,
        "digest": files.digest,
        "source": files.source,
        "base": str(files.base),
        "adapter": str(files.adapter),
        "problems": problems,
    }
