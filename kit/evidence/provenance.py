"""What ran: the project's own sources, the installed packages, and the machine, as facts without names.

Covers: hashes of every source file before and after a run with the sources packed beside them; installed
packages against the hashes their own installer recorded; versions, processor, device, driver, Unicode tables.
Nothing here names a host, a user or a folder of this machine.

Does not cover: compiled caches (`__pycache__`), which no installer records; packages without hashes are "not
checked" and never "ok". What else lies in the project's folder, logs, keys, bundles, is nobody's source and is neither
hashed nor packed; published bundles are products.
"""

from __future__ import annotations

import base64
import csv
import fnmatch
import hashlib
import os
import platform
import re
import subprocess
import sys
import unicodedata
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from kit.evidence.records import sha256_bytes, sha256_file, write_atomic
from kit.evidence.source_archive import pack_files
from kit.profile import PROJECT_ROOT

SOURCES_FORMAT = "kit-sources/1"
ENVIRONMENT_FORMAT = "kit-environment/1"
ARCHIVE = "source.tar.gz"
# Everything a run may depend on, and nothing a user may have left beside it: sources are packed into every bundle.
SOURCES = (".ci", "docs", "evidence/protocol", "evidence/protocol-2", "kit", "notebooks", "params", "tests")
AT_ROOT = (".gitattributes", ".gitignore", "LICENSE", "Makefile", "README.md", "environment.yml", "pyproject.toml")
TENSORS = ".safetensors"
PRIVATE_KEY = re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY-----")
# What computes a forward, and the distributions that bring it.
COMPUTING = {
    "torch": ("torch",),
    "transformers": ("transformers",),
    "peft": ("peft",),
    "fla": ("flash-linear-attention", "fla-core"),
    "triton": ("triton",),
}
CODE = (".py", ".so", ".pyd", ".dll", ".dylib")
MOST_NAMED = 20
INSTRUCTION_SETS = (
    "avx",
    "avx2",
    "fma",
    "avx512f",
    "avx512bw",
    "avx512_bf16",
    "amx_bf16",
    "asimd",
    "bf16",
    "sve",
)


# ---------------------------------------------------------------- sources


class PrivateKeyError(ValueError):
    """A private key lies among the sources, which every bundle carries."""


def source_files(root: str | Path = PROJECT_ROOT) -> list[str]:
    """Files of the project's own folders that .gitignore does not exclude, but tensors, and its files at the top, sorted.

    No git is needed. Understands the patterns this project uses: `name/` and `*.ext` anywhere, `folder/name/` from
    the top.
    """
    top = Path(root)
    rules = ignore_rules(top)
    found = [name for name in AT_ROOT if (top / name).is_file()]
    for source in SOURCES:
        for directory, folders, names in os.walk(top / source):
            place = Path(directory).relative_to(top)
            folders[:] = sorted(f for f in folders if not _ignored((place / f).as_posix(), True, rules))
            paths = ((place / name).as_posix() for name in names if not name.endswith(TENSORS))
            found += [path for path in paths if not _ignored(path, False, rules) and (top / path).is_file()]
    return sorted(found)


def ignore_rules(root: Path) -> tuple[str, ...]:
    """Patterns of the project's .gitignore. Raises ValueError for unknown syntax."""
    file = root / ".gitignore"
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    rules = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    for rule in rules:
        if rule.startswith("!") or "**" in rule:
            raise ValueError(
                f".gitignore: {rule!r} is a kind of pattern that hashing the sources does not know"
            )
    return tuple(rules)


def _ignored(path: str, is_folder: bool, rules: Iterable[str]) -> bool:
    for rule in rules:
        if rule.endswith("/") and not is_folder:
            continue
        pattern = rule.strip("/")
        anchored = "/" in rule.rstrip("/")
        if fnmatch.fnmatchcase(path if anchored else path.rpartition("/")[2], pattern):
            return True
    return False


def hash_sources(root: str | Path = PROJECT_ROOT) -> dict[str, str]:
    """SHA-256 of every source file, by its name relative to the root. Raises PrivateKeyError."""
    names = source_files(root)
    for name in names:
        with (Path(root) / name).open("rb") as file:
            if PRIVATE_KEY.match(file.read(80)):
                raise PrivateKeyError(
                    f"{name} is a private key, and the project's sources are packed into every bundle: keep keys outside "
                    "the project, for instance in ~/.ssh"
                )
    return {name: sha256_file(Path(root) / name) for name in names}


def sources_before(root: str | Path = PROJECT_ROOT) -> dict[str, Any]:
    """sources.json as a run begins it."""
    return {"format": SOURCES_FORMAT, "before": hash_sources(root)}


def sources_after(
    run_dir: str | Path, before: Mapping[str, str], root: str | Path = PROJECT_ROOT
) -> dict[str, Any]:
    """sources.json as a run ends it; packs the sources as they are now into source.tar.gz of the run."""
    after = hash_sources(root)
    archive = pack_files(root, after)
    write_atomic(Path(run_dir) / ARCHIVE, archive)
    return {
        "format": SOURCES_FORMAT,
        "before": dict(before),
        "after": after,
        "archive": ARCHIVE,
        "archive_sha256": sha256_bytes(archive),
    }


def changed_sources(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Files that changed, appeared or vanished."""
    return sorted(name for name in {*before, *after} if before.get(name) != after.get(name))


# ---------------------------------------------------------------- installed packages


def check_packages() -> dict[str, dict[str, Any]]:
    """Each computing package against the hashes its installer recorded.

    status: "ok" (every recorded file has its recorded hash and no code was added), "changed" (with up to
    20 names), "not checked" (installed without recorded hashes) or "absent".
    """
    return {name: check_package(distributions) for name, distributions in COMPUTING.items()}


def check_package(distributions: Iterable[str]) -> dict[str, Any]:
    """One package, made of one or more distributions."""
    found = [d for d in map(_distribution, distributions) if d is not None]
    if not found:
        return {"status": "absent"}
    facts: dict[str, Any] = {"version": found[0].version}
    records = [(Path(str(d.locate_file(""))), _recorded(d)) for d in found]
    if not all(any(name.endswith(".py") and value for name, value in record.items()) for _, record in records):
        # An editable install, for one, records its metadata and none of its code.
        return facts | {"status": "not checked", "reason": "it was installed without recorded hashes"}
    files, changed = 0, []
    for base, record in records:
        hashed = {name: value for name, value in record.items() if value}
        files += len(hashed)
        changed += [name for name, value in hashed.items() if _record_hash(base / name) != value]
    changed += _added(records)
    status = {"status": "changed", "changed": changed[:MOST_NAMED]} if changed else {"status": "ok"}
    return facts | status | {"files": files}


def _recorded(distribution: metadata.Distribution) -> dict[str, str]:
    """Every file an installer recorded, with its hash; "" where it recorded none."""
    rows = csv.reader((distribution.read_text("RECORD") or "").splitlines())
    return {row[0]: row[1] if row[1].startswith("sha256=") else "" for row in rows if len(row) >= 2}


def _added(records: list[tuple[Path, dict[str, str]]]) -> list[str]:
    """Code in the packages' folders that no installer recorded; distributions may share a folder."""
    known = {(base, name) for base, record in records for name in record}
    folders = {
        (base, name.partition("/")[0])
        for base, record in records
        for name in record
        if name.endswith(".py") and "/" in name and not name.startswith("..")
    }
    found = [
        f"{name} (added)"
        for base, folder in sorted(folders)
        for name in _code_under(base, folder)
        if (base, name) not in known
    ]
    return sorted(found)


def _distribution(name: str) -> metadata.Distribution | None:
    try:
        return metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return None


def _record_hash(file: Path) -> str | None:
    try:
        with file.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").digest()
    except OSError:
        return None
    return "sha256=" + base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def _code_under(base: Path, folder: str) -> Iterable[str]:
    for directory, _, names in os.walk(base / folder):
        for name in names:
            if name.endswith(CODE):
                yield (Path(directory) / name).relative_to(base).as_posix()


# ---------------------------------------------------------------- environment


def environment(settings: Mapping[str, Any], packages: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """environment.json. settings: `kit.runtime.settings()`, read after torch was imported.

    packages: result of `check_packages`, which is run when it is not given (about three seconds).
    """
    return {
        "format": ENVIRONMENT_FORMAT,
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "unicodedata": unicodedata.unidata_version,
        "platform": {
            "system": platform.system(),
            "machine": platform.machine(),
            "libc": " ".join(platform.libc_ver()),
        },
        "cpu": cpu_facts(),
        "device": device_facts(),
        "versions": installed_versions(),
        "packages": dict(packages) if packages is not None else check_packages(),
        "settings": dict(settings),
    }


def installed_versions() -> dict[str, str]:
    """Version of every installed distribution, by lower-case name."""
    found = {d.metadata["Name"].lower(): d.version for d in metadata.distributions() if d.metadata["Name"]}
    return dict(sorted(found.items()))


def cpu_facts() -> dict[str, Any]:
    """Model, logical cores and the instruction sets that matter for arithmetic."""
    text = _read("/proc/cpuinfo")
    model = re.search(r"^(?:model name|CPU part)\s*:\s*(.+)$", text, re.MULTILINE)
    flags = re.search(r"^(?:flags|Features)\s*:\s*(.+)$", text, re.MULTILINE)
    known = set(flags[1].split()) if flags else set()
    return {
        "model": model[1].strip() if model else platform.processor() or "unknown",
        "logical_cores": os.cpu_count(),
        "instruction_sets": [name for name in INSTRUCTION_SETS if name in known],
    }


def device_facts() -> dict[str, Any]:
    """The accelerator torch sees, or that it sees none. Imports torch only if it is already loaded."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        return {"kind": "cpu"}
    properties = torch.cuda.get_device_properties(0)
    return {
        "kind": "cuda",
        "name": properties.name,
        "count": torch.cuda.device_count(),
        "capability": f"{properties.major}.{properties.minor}",
        "memory_bytes": properties.total_memory,
        "driver": driver_version(),
        "cuda": torch.version.cuda,
        "cudnn": torch.backends.cudnn.version(),
    }


def driver_version() -> str | None:
    """Version of the NVIDIA driver, None where it cannot be read."""
    match = re.search(r"Kernel Module.*?\s(\d+\.\d+(?:\.\d+)?)", _read("/proc/driver/nvidia/version"))
    if match:
        return match[1]
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        output = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    return output.splitlines()[0].strip() if output.strip() else None


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
