"""The list of verbs in `--help`, under headings, each with its whole first sentence. Plain text: no colours, no boxes."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from typer.core import TyperGroup

WHOLE = 500  # characters: longer than any first sentence, so that none is cut


class Sections(TyperGroup):
    """A group whose commands are listed by their help panel, in the order they were added."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write one list a panel. ctx and formatter: Click's, or those of the copy of it that Typer carries."""
        width = max(map(len, self.commands), default=0)
        for panel, commands in groupby(self.commands.values(), lambda command: getattr(command, "rich_help_panel", "")):
            with formatter.section(panel):
                formatter.write_dl([(f"{command.name:{width}}", command.get_short_help_str(WHOLE)) for command in commands])
