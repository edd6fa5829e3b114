"""The command line: the verbs of `kit.verbs` as one command, and how each of them ends.

Exit codes: 0 done or pass, 1 a gate or a check failed, 2 could not judge or unusable input, 130 interrupted (Ctrl-C).
An error that the kit defines, or a file that cannot be read, is one sentence on standard error; verbs that end in a
line of JSON end in one then too, also where they were asked wrongly. Any other error is a defect, so it keeps its
traceback, but it is no failed gate either.
"""

from __future__ import annotations

import functools
import sys
import traceback
from collections.abc import Callable
from typing import Any

import typer

from kit.verbs import campaign, evidence, inquiry, serving
from kit.verbs.output import emit
from kit.verbs.sections import Sections

Verb = Callable[..., None]

CAMPAIGN: tuple[Verb, ...] = (
    campaign.run,
    campaign.checkpoint,
    campaign.freeze,
    campaign.tune,
    campaign.draws,
    campaign.bench,
    campaign.signal,
)
SERVING: tuple[Verb, ...] = (serving.decide, serving.prepare, serving.serve, serving.frontend)
EVIDENCE: tuple[Verb, ...] = (
    evidence.audit,
    evidence.diff,
    evidence.attack,
    evidence.challenge,
    evidence.sign,
    evidence.publish,
    evidence.ledger,
)
INQUIRY: tuple[Verb, ...] = (inquiry.floor, inquiry.oracle, inquiry.faults, inquiry.bisect, inquiry.diagnose)


def assemble() -> typer.Typer:
    """The command with every verb, in the order of its help."""
    app = typer.Typer(
        name="kit",
        cls=Sections,
        help="Qualify a fast inference engine for a decision model against its official reference.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    for heading, verbs in (("Campaign", CAMPAIGN), ("Serving", SERVING), ("Evidence", EVIDENCE), ("Inquiry", INQUIRY)):
        for verb in verbs:
            app.command(rich_help_panel=heading)(ending(verb, json_last=verbs is not SERVING))
    return app


def ending(verb: Verb, *, json_last: bool) -> Verb:
    """A verb that turns whatever it raises into words and an exit code. json_last: standard output ends in JSON then too."""

    @functools.wraps(verb)
    def ended(*arguments: object, **options: object) -> None:
        try:
            verb(*arguments, **options)
        except (typer.Exit, typer.BadParameter, BrokenPipeError):  # Typer's to end: a code, a usage, a reader gone
            raise
        except KeyboardInterrupt as stop:
            say(verb, str(stop) or "interrupted")
            raise typer.Exit(130) from None
        except Exception as error:
            problem = words(error)
            say(verb, problem)
            if json_last:
                emit({"verb": verb.__name__, "verdict": "not-judged", "error": type(error).__name__, "problem": problem})
            raise typer.Exit(2) from None

    return ended


def words(error: Exception) -> str:
    """What an error says to a person. Of one that nobody foresaw, the traceback is printed first."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, OSError) or type(error).__module__.startswith("kit."):
        return str(error)
    traceback.print_exception(error)
    return f"not foreseen, so this is a defect of the kit: {type(error).__name__}: {error}"


def say(verb: Verb, sentence: str) -> None:
    print(f"kit {verb.__name__}: {sentence}", file=sys.stderr, flush=True)


app = assemble()


def main() -> None:
    """Run the command line and leave with its exit code."""
    try:
        code = app(standalone_mode=False)
    except (KeyboardInterrupt, typer.Abort):  # before a verb began: Typer says either, as its version has it
        print("kit: interrupted", file=sys.stderr, flush=True)
        code = 130
    except Exception as error:
        code = misused(error)
    sys.exit(code)


def misused(error: Any) -> int:
    """Say what is wrong with the words of a command line; of a verb that ends in JSON in a line of that too.

    error: of Click, or of the copy of it that Typer carries, whose errors show themselves; any other is raised again.
    """
    if not hasattr(error, "show"):
        raise error
    error.show()
    context = error.ctx
    verb = context.info_name if context is not None and context.parent is not None else "kit"
    if sys.argv[1:] and verb not in {silent.__name__ for silent in SERVING}:
        emit({"verb": verb, "verdict": "not-judged", "error": "UsageError", "problem": error.format_message()})
    return int(error.exit_code)


if __name__ == "__main__":
    main()
