"""Nothing in a bundle tells whose machine made it: taking names out of logs, and refusing what is left.

Covers: the project's folder, the home folder and the Python environment in any text; the user name as part of
an absolute path; the host name; values of environment variables that are named like secrets. A user or host
name that is an ordinary word of this project's sources tells nothing and is not looked for.
Does not cover: pictures and compressed files, or what a profile or a protocol says in its own words.
"""

from __future__ import annotations

import getpass
import os
import re
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kit.evidence.provenance import source_files
from kit.profile import PROJECT_ROOT

SECRET_NAME = re.compile(r"token|secret|passw|api_?key|credential|private_?key", re.IGNORECASE)
# Shorter ones occur by chance, in base64 for instance.
SHORTEST_SECRET, SHORTEST_HOST, SHORTEST_USER = 12, 4, 3


@dataclass(frozen=True)
class Identity:
    """What must not be seen. paths: folder -> its stand-in; secrets: variable name -> value."""

    paths: Mapping[str, str]
    user: str = ""
    host: str = ""
    secrets: Mapping[str, str] | None = None


def this_machine(root: str | Path = PROJECT_ROOT) -> Identity:
    """The identity of this process: its project, home, interpreter, user, host and secret variables."""
    paths: dict[str, str] = {}
    for folder, stand_in in (
        (os.path.expanduser("~"), "~"),
        (sys.base_prefix, "~"),
        (sys.prefix, "~"),
        (str(root), "."),  # last: it wins where it is one of the others
    ):
        for form in (folder, os.path.realpath(folder)):
            # System folders belong to nobody, and "/" is in every path.
            if len(form) > 1 and not re.fullmatch(r"/(usr|opt|var|tmp)(/local|/bin|/conda|/venv)?", form):
                paths[form.rstrip("/")] = stand_in
    words = _ordinary_words(Path(root))
    user, host = _user(), socket.gethostname()
    return Identity(
        paths,
        user if len(user) >= SHORTEST_USER and user.lower() not in words else "",
        host if len(host) >= SHORTEST_HOST and host.lower() not in words and host != "localhost" else "",
        {
            name: value
            for name, value in os.environ.items()
            if SECRET_NAME.search(name) and len(value) >= SHORTEST_SECRET and not os.path.exists(value)
        },
    )


def scrub(text: str, identity: Identity | None = None) -> str:
    """The text with `.` for the project's folder, `~` for home and environment, and stand-ins for names."""
    who = identity or this_machine()
    for path in sorted(who.paths, key=len, reverse=True):
        text = _path_pattern(path).sub(who.paths[path], text)
    if who.user:
        text = _user_pattern(who.user).sub(r"\1user", text)
    if who.host:
        text = _word_pattern(who.host).sub("host", text)
    for name, value in (who.secrets or {}).items():
        text = text.replace(value, f"${name}")
    return text


def traces(text: str, identity: Identity) -> list[str]:
    """What of the identity a text still shows, in words that do not repeat it."""
    found = [
        f"a path under {_kind(stand_in)}"
        for path, stand_in in identity.paths.items()
        if _path_pattern(path).search(text)
    ]
    if identity.user and _user_pattern(identity.user).search(text):
        found.append("a path with the user name")
    if identity.host and _word_pattern(identity.host).search(text):
        found.append("the host name")
    found += [f"the value of {name}" for name, value in (identity.secrets or {}).items() if value in text]
    return list(dict.fromkeys(found))


def traces_in(folder: str | Path, names: list[str], identity: Identity) -> list[str]:
    """Every trace in the texts and the names of a folder's files: `name: what`."""
    found = [f"{name}: its name shows {what}" for name in names for what in traces(name, identity)]
    for name in names:
        text = as_text((Path(folder) / name).read_bytes())
        found += [f"{name}: {what}" for what in (traces(text, identity) if text is not None else ())]
    return found


def as_text(data: bytes) -> str | None:
    """UTF-8 text, or None for anything else."""
    if b"\0" in data:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _path_pattern(path: str) -> re.Pattern[str]:
    # A path begins after anything but a path character, or after the `m` that ends a terminal colour code.
    return re.compile(rf"(?:(?<![\w.~)\]}}-])|(?<=\dm)|(?<=\[m)){re.escape(path)}(?![\w-])")


def _user_pattern(user: str) -> re.Pattern[str]:
    return re.compile(rf"((?<![\w.:/+=~-])/(?:[^\s/\"'<>:|]+/){{0,20}}){re.escape(user)}(?![\w.-])")


def _word_pattern(word: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])", re.IGNORECASE)


def _kind(stand_in: str) -> str:
    return "the project's folder" if stand_in == "." else "the home folder or the Python environment"


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return ""


def _ordinary_words(root: Path) -> set[str]:
    words: set[str] = set()
    for name in source_files(root):
        if name.endswith((".py", ".md", ".toml", ".ipynb", ".yml")):
            text = as_text((root / name).read_bytes()) or ""
            words.update(re.findall(r"[a-z0-9][a-z0-9_.-]*[a-z0-9]|[a-z0-9]", text.lower()))
    return words
