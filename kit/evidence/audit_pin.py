"""`python -m kit.evidence.audit_pin`: write the digest of the auditor as it is now under its version, in audits.json.

Covers: the entry of the current version alone; entries of other versions stay, because bundles were published with
them. Does not cover: raising the version (`AUDIT_VERSION`), which is for whoever publishes a bundle.
"""

from __future__ import annotations

import json
from pathlib import Path

from kit.evidence import audit
from kit.evidence.auditing import KNOWN, known_auditors
from kit.evidence.records import sha256_bytes, write_atomic


def pin(file: Path = KNOWN) -> str:
    """Write the entry; returns the digest."""
    digest, version = sha256_bytes(audit.joined().encode()), str(audit.AUDIT_VERSION)
    audits = {old: told for old, told in known_auditors(file).items() if told != version} | {digest: version}
    text = json.dumps({"format": "kit-audits/1", "audits": audits}, indent=1)
    write_atomic(file, (text + "\n").encode())
    return digest


if __name__ == "__main__":
    print(f"audit.py of version {audit.AUDIT_VERSION}: {pin()}")
