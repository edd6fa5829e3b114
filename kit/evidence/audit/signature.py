"""The detached signature over SHA256SUMS: whether it is there, and whose it is, if somebody asks ssh-keygen.

Without allowed signers nothing is verified and nothing is called good. What stands beside SHA256SUMS must at any
rate be a signature of this namespace, made by `ssh-keygen -Y sign -n bundle@decision-kit`.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import re
import shutil
import subprocess
from typing import List, NamedTuple, Tuple

from kit.evidence.audit.reading import Bundle
from kit.evidence.audit.rules import UNLISTED, NotJudgedError, UnreadableError

NAMESPACE = "bundle@decision-kit"
KEYGEN = "ssh-keygen"
KEYGEN_MISSING = "%s is not installed; it comes with OpenSSH 8.2 or later (package openssh-client)" % KEYGEN
KEYGEN_SECONDS = 30
SIGNED, SIGNATURE = UNLISTED
ARMOUR = re.compile(
    rb"-----BEGIN SSH SIGNATURE-----\n([A-Za-z0-9+/=\n]{1,16384})\n-----END SSH SIGNATURE-----\n?"
)
MAGIC = b"SSHSIG"


class Signers(NamedTuple):
    """Who may have signed: an allowed-signers file as ssh-keygen reads it, and one identity of it ("" for any)."""

    file: str
    identity: str = ""


NO_SIGNERS = Signers("")


class Signed(NamedTuple):
    """What a signature says of itself. fingerprint: of its public key, as ssh-keygen prints it."""

    fingerprint: str
    namespace: str


def read_signature(data: bytes) -> Signed:
    """Take an armoured SSH signature apart. Raises UnreadableError for anything else."""
    match = ARMOUR.fullmatch(data)
    try:
        blob = base64.b64decode(match.group(1).replace(b"\n", b""), validate=True) if match else b""
        if blob[:6] != MAGIC or int.from_bytes(blob[6:10], "big") != 1:
            raise ValueError("no SSH signature of version 1")
        key, rest = field(blob[10:])
        namespace, rest = field(rest)
        for _ in ("reserved", "hash", "signature"):
            _, rest = field(rest)
        if rest:
            raise ValueError("something follows the signature")
        digest = base64.b64encode(hashlib.sha256(key).digest()).decode().rstrip("=")
        return Signed("SHA256:%s" % digest, namespace.decode("utf-8"))
    except (ValueError, binascii.Error) as error:
        raise UnreadableError("%s is not a signature that %s made (%s)" % (SIGNATURE, KEYGEN, error)) from error


def field(data: bytes) -> Tuple[bytes, bytes]:
    """The first length-prefixed field, and what follows it."""
    end = 4 + int.from_bytes(data[:4], "big")
    if len(data) < 4 or len(data) < end:
        raise ValueError("cut off")
    return data[4:end], data[end:]


def check_signature(bundle: Bundle) -> None:
    """What stands beside SHA256SUMS is a signature of a bundle, whoever made it."""
    if bundle.exists(SIGNATURE):
        found = read_signature(bundle.read(SIGNATURE)).namespace
        if found != NAMESPACE:
            bundle.fail("%s namespace" % SIGNATURE, "is %s, expected %s" % (found[:90], NAMESPACE))


def refuse_signers(signers: Signers) -> None:
    """Raise NotJudgedError where nobody's signature could be verified."""
    if signers.identity and not signers.file:
        raise NotJudgedError("an identity says nothing without the file of allowed signers that it stands in")
    if signers.file and not os.path.isfile(signers.file):
        raise NotJudgedError("%s is no file of allowed signers" % signers.file)
    if signers.file and shutil.which(KEYGEN) is None:
        raise NotJudgedError("the signature cannot be verified: %s" % KEYGEN_MISSING)


def judge_signature(bundle: Bundle, signers: Signers) -> str:
    """The signature in words; a problem where one was asked for and none by an allowed signer is there."""
    if not bundle.exists(SIGNATURE):
        if signers.file:
            bundle.fail(SIGNATURE, "is missing, expected a signature by an allowed signer")
        return "unsigned"
    try:
        fingerprint = read_signature(bundle.read(SIGNATURE)).fingerprint
    except UnreadableError as error:  # check_signature has said so
        return "bad: %s" % error
    if not signers.file:
        return "not checked: made by key %s, whoever's that is; name your allowed signers" % fingerprint
    who, reason = verified(bundle, signers)
    if who:
        return "good: %s, %s" % (who, fingerprint)
    bundle.fail(SIGNATURE, "is not good: %s; its key is %s" % (reason, fingerprint))
    return "bad: %s, %s" % (reason, fingerprint)


def verified(bundle: Bundle, signers: Signers) -> Tuple[str, str]:
    """(identity, "") of an allowed signer whose signature it is, or ("", why it is nobody's)."""
    file = os.path.join(os.path.abspath(bundle.path), SIGNATURE)
    common = ["-s", file, "-f", os.path.abspath(signers.file)]
    if signers.identity:
        names, said = [signers.identity], ""
    else:
        code, out, said = ask(["-Y", "find-principals", *common], b"")
        names = [line for line in out.split("\n") if line.strip()] if code == 0 else []
    for name in names:
        code, _, said = ask(["-Y", "verify", *common, "-I", name, "-n", NAMESPACE], bundle.read(SIGNED))
        if code == 0:
            return name, ""
    return "", said or "no allowed signer has its key"


def ask(arguments: List[str], data: bytes) -> Tuple[int, str, str]:
    """(exit code, output, first line of complaint) of ssh-keygen."""
    try:
        done = subprocess.run([KEYGEN, *arguments], input=data, capture_output=True, timeout=KEYGEN_SECONDS, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        return -1, "", "%s: %s" % (KEYGEN, type(error).__name__)
    complaint = done.stderr.decode("utf-8", "replace").strip().split("\n")[0][:200]
    return done.returncode, done.stdout.decode("utf-8", "replace"), complaint
