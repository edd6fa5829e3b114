"""The auditor's sections become one file, always the same one, or the reason why not is said."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kit.evidence import audit, audit_pin, auditing
from kit.evidence.audit.joining import JoinError, join
from kit.evidence.records import sha256_bytes, write_json
from tests.evidence.make_bundle import Tamper

RULES = '"""Rules."""\n\nimport os\n\nLIMIT = 3\n'
RUNNING = (
    '"""What it does.\n\nMore of it."""\n\nfrom __future__ import annotations\n\nimport sys\n\n'
    "from kit.evidence.audit.rules import LIMIT\n\n\ndef main() -> int:\n    return LIMIT\n"
)


def test_the_entry_comes_last_and_gives_its_description() -> None:
    text = join({"running": RUNNING, "rules": RULES, "__init__": "import nothing"})
    assert text.startswith('#!/usr/bin/env python3\n"""What it does.\n\nMore of it."""\n')
    assert "import os\nimport sys\n" in text
    assert text.index("LIMIT = 3") < text.index("def main")
    assert "kit.evidence" not in text


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        ({"running": RUNNING}, "rules, which is missing"),
        ({"running": RUNNING, "rules": RULES, "more": RULES}, "more.py is never reached from running"),
        ({"running": RUNNING, "rules": RULES + "def main():\n    return 0\n"}, "main is defined in rules and in running"),
        ({"running": RUNNING, "rules": "import numpy as np\nLIMIT = 3\n"}, "rules.py holds an import under another name"),
        ({"running": RUNNING, "rules": "from kit.profile import Profile\n"}, "rules.py holds an import from outside"),
        ({"running": RUNNING, "rules": "from . import more\n"}, "rules.py holds an import under another name"),
        ({"running": RUNNING, "rules": "from kit.evidence.audit.running import main\n"}, "running, which needs it"),
    ],
)
def test_what_cannot_be_joined_is_named(sections: dict[str, str], message: str) -> None:
    with pytest.raises(JoinError, match=re.escape(message)):
        join(sections)


def test_the_joined_file_is_the_same_in_every_process() -> None:
    command = [sys.executable, "-c", "from kit.evidence import audit; print(audit.joined(), end='')"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == audit.joined() == audit.joined()


def test_the_joined_file_judges_as_the_sections_do(sealed: Path, tamper: Tamper) -> None:
    tamper.json("verdict.json", lambda d: d.update(max_probability_drift=1.0))
    program: dict[str, object] = {"__name__": "joined"}
    exec(compile(audit.joined(), "audit.py", "exec"), program)
    judge = program["judge"]
    assert callable(judge)
    for path in (sealed, tamper.path):
        assert judge(str(path)) == audit.judge(str(path))


def test_pinning_writes_the_current_version_alone(tmp_path: Path) -> None:
    file = Path(shutil.copy(auditing.KNOWN, tmp_path / "audits.json"))
    before = auditing.known_auditors(file)
    write_json(file, {"format": "kit-audits/1", "audits": {"old": "1", "stale": str(audit.AUDIT_VERSION)}})
    digest = audit_pin.pin(file)
    assert digest == sha256_bytes(audit.joined().encode())
    assert auditing.known_auditors(file) == {"old": "1", digest: str(audit.AUDIT_VERSION)}
    assert before[digest] == str(audit.AUDIT_VERSION), "run python -m kit.evidence.audit_pin"


def test_an_auditor_that_is_not_made_of_the_packed_sections_is_refused(tamper: Tamper) -> None:
    (tamper.path / "audit.py").write_text(audit.joined() + "# more\n")
    tamper.reseal()
    assert audit.judge(str(tamper.path))["problems"] == ["auditor: audit.py: is not the one of the packed sources"]
