"""A server's log: standard error, one line an event, no path that tells whose machine it was.

Logs become part of a published bundle, so tracebacks name files relative to the project or the interpreter.
"""

from __future__ import annotations

import logging
import sys
import time
from pathlib import Path

from kit.profile import PROJECT_ROOT


class PlainFormatter(logging.Formatter):
    """UTC time, level, message; folders of this machine are replaced in the whole text."""

    def __init__(self) -> None:
        super().__init__("%(asctime)sZ %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%S")
        self.converter = time.gmtime

    def format(self, record: logging.LogRecord) -> str:
        return without_folders(super().format(record))


def without_folders(text: str) -> str:
    """Text with the interpreter's, the project's and the home folder shortened, longest first."""
    folders = {sys.prefix: "<python>", sys.base_prefix: "<python>", str(PROJECT_ROOT): ".", str(Path.home()): "~"}
    for folder in sorted(folders, key=len, reverse=True):
        if len(folder) > 1:
            text = text.replace(folder + "/", folders[folder] + "/")
    return text


def log_to_stderr() -> None:
    """Send this process's log messages to standard error; safe to call again."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(PlainFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("kit").setLevel(logging.INFO)
