"""Where a command's tables go: standard output, as wide as the terminal, or as wide as a table needs in a file or a pipe.

Covers: the console every verb prints its tables to. Does not cover: the JSON line that ends a verb's output.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

WIDTH = 160  # where there is no terminal to ask; rich would take 80, and cut names


def console(*, markup: bool = False) -> Console:
    """markup: square brackets are styles; without it a name with brackets is shown as it is."""
    from rich.console import Console

    found = Console(markup=markup, highlight=False)
    return found if found.is_terminal else Console(markup=markup, highlight=False, width=WIDTH)
