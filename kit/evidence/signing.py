"""A detached signature over SHA256SUMS with an SSH key: who vouches for a bundle.

Covers: `sign(bundle, key)` writes SHA256SUMS.sig with `ssh-keygen -Y sign`, in the one namespace that bundles are
signed in (`bundle@decision-kit`), so that a signature made for something else never counts for one. The key is a
private key file, or a public one whose private half an SSH agent holds. The list it signs covers every file, so the
signature does too; it names no person, only a key.
Does not cover: verifying (`kit.evidence.audit.signature`), or whether the bundle passes: a failed run can be signed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from kit.evidence import manifest
from kit.evidence.audit.rules import UnreadableError
from kit.evidence.audit.signature import KEYGEN, KEYGEN_MISSING, NAMESPACE, SIGNATURE, SIGNED, read_signature
from kit.evidence.records import write_atomic


class SigningError(RuntimeError):
    """No signature was made; the message says why and what to do."""


def sign(bundle: str | Path, key: str | Path) -> str:
    """Sign a sealed bundle folder and return the key's fingerprint. Raises SigningError; nothing is replaced."""
    folder = Path(bundle)
    if folder.is_file():
        raise SigningError(f"{folder.name} is packed: sign the folder, then pack it")
    if not (folder / SIGNED).is_file():
        raise SigningError(f"{folder.name} has no {SIGNED}, so it is not sealed; finish it with: python -m kit run")
    if (folder / SIGNATURE).exists():
        raise SigningError(f"{folder.name} is signed already; to sign it with another key, remove {SIGNATURE} first")
    problems = manifest.verify_sums(folder)
    if problems:
        raise SigningError(f"{folder.name} was changed after it was sealed, so it is not signed: {problems[0]}")
    signature = signature_over((folder / SIGNED).read_bytes(), key)
    fingerprint = read_signature(signature).fingerprint
    write_atomic(folder / SIGNATURE, signature)
    return fingerprint


def check_key(key: str | Path) -> str:
    """The fingerprint of a key that can sign, tried on a few bytes: before a long run, not after it."""
    return read_signature(signature_over(b"can this key sign?\n", key)).fingerprint


def fingerprint_of(bundle: str | Path) -> str | None:
    """The fingerprint of the key beside a bundle's sums, verified by nobody; None where it is unsigned."""
    file = Path(bundle) / SIGNATURE
    return read_signature(file.read_bytes()).fingerprint if file.is_file() else None


def signature_over(data: bytes, key: str | Path) -> bytes:
    """The armoured signature of some bytes. May ask for a passphrase on the terminal. Raises SigningError."""
    file = Path(key).expanduser()
    if not file.is_file():
        raise SigningError(f"{key} is no key file; make one with: {KEYGEN} -t ed25519 -f {key}")
    if shutil.which(KEYGEN) is None:
        raise SigningError(KEYGEN_MISSING)
    command = [KEYGEN, "-Y", "sign", "-q", "-f", os.fspath(file.resolve()), "-n", NAMESPACE]
    done = subprocess.run(command, input=data, capture_output=True, check=False)
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise SigningError(f"{KEYGEN} could not sign with {key}: {said[-1] if said else 'it said nothing'}")
    try:
        read_signature(done.stdout)
    except UnreadableError as error:
        raise SigningError(str(error)) from error
    return done.stdout
