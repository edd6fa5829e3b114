"""Arguments and options that several verbs take, said once. What one verb alone takes stands with it."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class EngineName(StrEnum):
    reference = "reference"
    native = "native"
    graph = "graph"


ProfileArgument = Annotated[str, typer.Argument(metavar="PROFILE", help="A profile file, e.g. params/cpu-decider.toml.")]
RequestArgument = Annotated[Path, typer.Argument(metavar="REQUEST", help="A request as JSON; - reads standard input.")]

IntoRunOption = Annotated[str, typer.Option(help="Id of an unsealed run to put it into, made if there is none.")]
HostOption = Annotated[str, typer.Option(help="Address to listen on.")]
OwnedOption = Annotated[bool, typer.Option("--owned", help="Stop when standard input closes.")]
