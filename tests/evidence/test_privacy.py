"""What is taken out of texts, what is found in them, and what is left alone."""

from pathlib import Path

import pytest

from kit.evidence import privacy
from kit.evidence.privacy import Identity, scrub, traces

ALICE = Identity(
    {"/home/alice": "~", "/home/alice/decision-kit": ".", "/srv/envs/kit": "~"},
    "alice",
    "alice-laptop",
    {"HUB_TOKEN": "hf_0123456789abc"},
)


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("/home/alice/decision-kit/kit/profile.py", "./kit/profile.py"),
        ("/home/alice/.venv/lib", "~/.venv/lib"),
        ('File "/home/alice/x.py", line 3', 'File "~/x.py", line 3'),
        ("\x1b[92m/home/alice/x.py\x1b[39m", "\x1b[92m~/x.py\x1b[39m"),
        ("file:///home/alice/x.py", "file://~/x.py"),
        ("/srv/envs/kit/bin/python", "~/bin/python"),
        ("/scratch/alice/models", "/scratch/user/models"),
        ("http://Alice-Laptop:8000/", "http://host:8000/"),
        ("token hf_0123456789abc sent", "token $HUB_TOKEN sent"),
        ("/home/alice-b/x and /home/alicex", "/home/alice-b/x and /home/alicex"),
        ("alice said so; malice; user/alice/thing", "alice said so; malice; user/alice/thing"),
    ],
)
def test_scrub(text: str, clean: str) -> None:
    assert scrub(text, ALICE) == clean
    assert bool(traces(text, ALICE)) == (clean != text)
    assert traces(clean, ALICE) == []


def test_a_home_of_one_component_is_a_path_and_not_a_word() -> None:
    root = Identity({"/root": "~"})
    assert scrub("/root/x /rootfs the/root/of it", root) == "~/x /rootfs the/root/of it"


def test_traces_do_not_repeat_what_they_found() -> None:
    found = traces("/home/alice/decision-kit on alice-laptop with hf_0123456789abc", ALICE)
    assert found == [
        "a path under the home folder or the Python environment",
        "a path under the project's folder",
        "a path with the user name",
        "the host name",
        "the value of HUB_TOKEN",
    ]


def test_this_machine_knows_its_folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home, project = tmp_path / "home" / "carol", tmp_path / "project"
    project.mkdir()
    (project / "README.md").write_text("The worker answers.\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr(privacy.socket, "gethostname", lambda: "carols-box")
    monkeypatch.setattr(privacy.getpass, "getuser", lambda: "carol")
    who = privacy.this_machine(project)
    assert who.paths[str(home)] == "~"
    assert who.paths[str(project)] == "."
    assert (who.user, who.host) == ("carol", "carols-box")


def test_names_that_are_ordinary_words_are_not_looked_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "README.md").write_text("The worker answers as root.\n")
    monkeypatch.setattr(privacy.socket, "gethostname", lambda: "worker")
    monkeypatch.setattr(privacy.getpass, "getuser", lambda: "root")
    who = privacy.this_machine(tmp_path)
    assert (who.user, who.host) == ("", "")


def test_files_are_searched_by_name_and_by_text(tmp_path: Path) -> None:
    (tmp_path / "alice-laptop.log").write_text("fine")
    (tmp_path / "b.log").write_text("in /home/alice")
    (tmp_path / "c.bin").write_bytes(b"\0/home/alice")
    found = privacy.traces_in(tmp_path, ["alice-laptop.log", "b.log", "c.bin"], ALICE)
    assert found == [
        "alice-laptop.log: its name shows the host name",
        "b.log: a path under the home folder or the Python environment",
        "b.log: a path with the user name",
    ]
