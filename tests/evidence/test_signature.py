"""A signature over SHA256SUMS: made, found, verified on request, refused when it is bad, and never called good unasked.

Keys are made for each session and thrown away. Without ssh-keygen what needs it is skipped, and the rest is not.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kit.evidence import audit, auditing, manifest, package, signing
from kit.evidence.audit import signature
from kit.evidence.audit.signature import NAMESPACE, Signers
from tests.evidence.make_bundle import Tamper

needs_keygen = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen (OpenSSH) is not installed")


def make_key(folder: Path, name: str) -> Path:
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(folder / name)]
    subprocess.run(command, check=True)
    return folder / name


def allow(file: Path, **keys: Path) -> str:
    """An allowed-signers file; a name stands for name@example.org."""
    file.write_text("".join(f"{name}@example.org {key.with_suffix('.pub').read_text()}" for name, key in keys.items()))
    return str(file)


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("keys")
    return {name: make_key(folder, name) for name in ("ada", "eve")}


@pytest.fixture
def allowed(keys: dict[str, Path], tmp_path: Path) -> str:
    return allow(tmp_path / "allowed", ada=keys["ada"])


def judged(bundle: Path, *signers: str) -> dict[str, Any]:
    return audit.judge(str(bundle), signers=Signers(*signers))


# ---------------------------------------------------------------- unsigned, or not asked


def test_an_unsigned_bundle_says_unsigned_and_never_more(sealed: Path) -> None:
    result = audit.judge(str(sealed))
    assert (result["audit"], result["signature"]) == ("pass", "unsigned")
    assert "signature (unsigned)" in result["not_checked"]


def test_what_was_never_judged_was_never_checked(tmp_path: Path) -> None:
    assert audit.judge(str(tmp_path))["signature"] == "not checked: nothing was judged"


@needs_keygen
def test_a_signature_nobody_asks_about_is_not_checked(bundle: Path, keys: dict[str, Path]) -> None:
    fingerprint = signing.sign(bundle, keys["ada"])
    result = audit.judge(str(bundle))
    assert result["audit"] == "pass"
    assert result["signature"].startswith(f"not checked: made by key {fingerprint}")


# ---------------------------------------------------------------- asked


@needs_keygen
def test_a_good_signature_names_who_and_which_key(bundle: Path, keys: dict[str, Path], allowed: str) -> None:
    fingerprint = signing.sign(bundle, keys["ada"])
    printed = subprocess.run(["ssh-keygen", "-l", "-f", keys["ada"]], capture_output=True, text=True, check=True).stdout
    assert fingerprint == printed.split()[1]
    for signers in ((allowed,), (allowed, "ada@example.org")):
        result = judged(bundle, *signers)
        assert (result["audit"], result["signature"]) == ("pass", f"good: ada@example.org, {fingerprint}")
        assert not any("signature" in item for item in result["not_checked"])


@needs_keygen
def test_unsigned_does_not_pass_where_a_signature_is_asked_for(bundle: Path, allowed: str) -> None:
    result = judged(bundle, allowed)
    assert (result["audit"], result["signature"]) == ("fail", "unsigned")
    assert result["problems"] == ["signature: SHA256SUMS.sig: is missing, expected a signature by an allowed signer"]


@needs_keygen
@pytest.mark.parametrize("identity", ["", "ada@example.org"])
def test_a_stranger_is_refused(bundle: Path, keys: dict[str, Path], allowed: str, identity: str) -> None:
    fingerprint = signing.sign(bundle, keys["eve"])
    result = judged(bundle, allowed, identity)
    assert result["audit"] == "fail"
    assert result["signature"].startswith("bad: ")
    assert result["signature"].endswith(fingerprint)
    assert result["problems"][0].startswith("signature: SHA256SUMS.sig: is not good: ")


@needs_keygen
def test_another_allowed_signer_is_not_the_one_asked_for(bundle: Path, keys: dict[str, Path], tmp_path: Path) -> None:
    signing.sign(bundle, keys["eve"])
    both = allow(tmp_path / "both", **keys)
    assert judged(bundle, both)["signature"].startswith("good: eve@example.org")
    assert judged(bundle, both, "ada@example.org")["audit"] == "fail"


@needs_keygen
def test_a_bundle_resealed_after_it_was_signed_is_refused(bundle: Path, keys: dict[str, Path], allowed: str) -> None:
    signing.sign(bundle, keys["ada"])
    (bundle / "logs" / "native.log").write_text("another log\n")
    Tamper(bundle).reseal()
    assert audit.judge(str(bundle))["audit"] == "pass"  # consistent: only the signature can tell
    result = judged(bundle, allowed)
    assert result["audit"] == "fail"
    assert result["signature"].startswith("bad: Signature verification failed")


@needs_keygen
def test_a_signature_of_another_bundle_is_refused(bundle: Path, keys: dict[str, Path], allowed: str, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a.txt").write_text("a")
    manifest.write_sums(tmp_path / "other")
    signing.sign(tmp_path / "other", keys["ada"])
    shutil.copyfile(tmp_path / "other" / "SHA256SUMS.sig", bundle / "SHA256SUMS.sig")
    assert judged(bundle, allowed)["audit"] == "fail"


@needs_keygen
def test_a_signature_made_for_something_else_is_refused_by_every_audit(
    bundle: Path, keys: dict[str, Path], allowed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signing, "NAMESPACE", "git")
    signing.sign(bundle, keys["ada"])
    problem = f"signature: SHA256SUMS.sig namespace: is git, expected {NAMESPACE}"
    assert problem in audit.judge(str(bundle))["problems"]
    assert problem in judged(bundle, allowed)["problems"]
    assert judged(bundle, allowed)["signature"].startswith("bad: ")


@pytest.mark.parametrize(
    "content",
    [
        b"", b"\x00\xff" * 50, b"good: ada@example.org\n", b"-----BEGIN SSH SIGNATURE-----\nU1NI\n-----END SSH SIGNATURE-----\n",
        b"-----BEGIN SSH SIGNATURE-----\n" + b"A" * 20000 + b"\n-----END SSH SIGNATURE-----\n",
        b"-----BEGIN SSH SIGNATURE-----\nU1NIU0lHAAAAAf////8=\n-----END SSH SIGNATURE-----\n",
    ],
    ids=["empty", "noise", "words", "cut off", "long", "a field longer than the file"],
)  # fmt: skip
def test_what_is_no_signature_is_refused_by_every_audit(bundle: Path, content: bytes) -> None:
    (bundle / "SHA256SUMS.sig").write_bytes(content)
    result = audit.judge(str(bundle))
    assert result["audit"] == "fail"
    assert result["signature"].startswith("bad: SHA256SUMS.sig is not a signature")
    assert result["problems"][0].startswith("unreadable: SHA256SUMS.sig is not a signature that ssh-keygen made")


# ---------------------------------------------------------------- what cannot be judged


@needs_keygen
def test_signers_that_are_not_there_judge_nothing(sealed: Path, tmp_path: Path) -> None:
    result = judged(sealed, str(tmp_path / "nobody"))
    assert result["audit"] == "not-judged"
    assert result["problems"][0].endswith("nobody is no file of allowed signers")


def test_an_identity_alone_judges_nothing(sealed: Path) -> None:
    assert judged(sealed, "", "ada@example.org")["audit"] == "not-judged"


def test_without_ssh_keygen_it_says_what_to_install(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "allowed").write_text("")
    (tmp_path / "key").write_text("")
    monkeypatch.setenv("PATH", str(tmp_path))
    result = judged(bundle, str(tmp_path / "allowed"))
    assert result["audit"] == "not-judged"
    assert "ssh-keygen is not installed; it comes with OpenSSH" in result["problems"][0]
    with pytest.raises(signing.SigningError, match="package openssh-client"):
        signing.sign(bundle, tmp_path / "key")
    assert audit.judge(str(bundle))["signature"] == "unsigned"


# ---------------------------------------------------------------- from the command line, and packed


@needs_keygen
def test_the_bundles_own_auditor_verifies_too(bundle: Path, keys: dict[str, Path], allowed: str) -> None:
    signing.sign(bundle, keys["ada"])

    def run(*options: str) -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, "-I", bundle / "audit.py", bundle, *options], capture_output=True, text=True, check=False
        )
        last = done.stdout.splitlines()[-1]
        return done.returncode, json.loads(last)["signature"] if last.startswith("{") else ""

    assert run("--allowed-signers", allowed, "--identity", "ada@example.org")[1].startswith("good: ada@example.org")
    assert run()[0] == 0
    assert run("--allowed-signers", allowed, "--identity", "eve@example.org")[0] == 1
    for wrong in (["--allowed-signers"], ["--allowed-signers", ""], ["--allowed", allowed]):
        assert run(*wrong) == (2, "")


@needs_keygen
def test_the_signature_travels_in_a_packed_bundle(bundle: Path, keys: dict[str, Path], allowed: str, tmp_path: Path) -> None:
    signing.sign(bundle, keys["ada"])
    packed = package.pack(bundle, tmp_path / "bundle.tar.gz")
    assert auditing.audit_bundle(packed, trust_own=True, signers=Signers(allowed))["signature"].startswith("good: ")


# ---------------------------------------------------------------- signing


@needs_keygen
def test_signing_changes_nothing_but_the_signature(bundle: Path, keys: dict[str, Path]) -> None:
    before = {path: path.read_bytes() for path in bundle.rglob("*") if path.is_file()}
    signing.sign(bundle, keys["ada"])
    after = {path: path.read_bytes() for path in bundle.rglob("*") if path.is_file()}
    assert after.keys() - before.keys() == {bundle / "SHA256SUMS.sig"}
    assert {path: after[path] for path in before} == before
    assert manifest.verify_sums(bundle) == []
    with pytest.raises(signing.SigningError, match="is signed already"):
        signing.sign(bundle, keys["eve"])


@needs_keygen
@pytest.mark.parametrize(("deed", "message"), [
    (lambda bundle: (bundle / "SHA256SUMS").unlink(), "is not sealed"),
    (lambda bundle: (bundle / "run.json").write_text("{}"), "was changed after it was sealed, so it is not signed: run.json"),
])  # fmt: skip
def test_what_is_not_signed(bundle: Path, keys: dict[str, Path], deed: Any, message: str) -> None:
    deed(bundle)
    with pytest.raises(signing.SigningError, match=message):
        signing.sign(bundle, keys["ada"])
    assert not (bundle / "SHA256SUMS.sig").exists()


@needs_keygen
def test_a_key_is_tried_before_it_is_needed(keys: dict[str, Path], tmp_path: Path) -> None:
    assert signing.check_key(keys["ada"]).startswith("SHA256:")
    with pytest.raises(signing.SigningError, match="is no key file"):
        signing.check_key(tmp_path / "absent")
    (tmp_path / "text").write_text("not a key")
    with pytest.raises(signing.SigningError, match="ssh-keygen could not sign with"):
        signing.check_key(tmp_path / "text")


def test_the_namespace_is_fixed() -> None:
    """Signatures already made would no longer verify under another one."""
    assert signature.NAMESPACE == "bundle@decision-kit"
