"""What is shown while an attack lasts: plain lines now and then in a log, one line that renews itself on a terminal."""

import io
from collections.abc import Callable

import pytest

from kit.evidence.attack.mutation import Mutation
from kit.evidence.attack.progress import EVERY_S, RENEW, Progress, duration, sentence
from kit.evidence.attack.runner import Audited, Outcome

FIRST_LINE = "kit attack: first the untouched bundle: as it is, re-sealed, packed\n"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    """Moves on when it is told to."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def outcome(family: str = "files", fault: str = "", *, anchored: bool = False) -> Outcome:
    mutation = Mutation(family, "any", lambda suspect: None, ("run.json",), anchors=("digest",) if anchored else ())
    return Outcome(mutation, Audited(1, 1.0, 1, {}), "", fault)


def shown(stream: io.StringIO, say: Callable[[Progress, Clock], None]) -> str:
    clock = Clock()
    with Progress(stream, clock) as progress:
        say(progress, clock)
    return stream.getvalue()


def every_second(count: int) -> Callable[[Progress, Clock], None]:
    """An attack of so many mutations, one a second."""

    def say(progress: Progress, clock: Clock) -> None:
        outcomes: list[Outcome] = []
        progress(outcomes, count)
        for _ in range(count):
            clock.now += 1
            outcomes.append(outcome())
            progress(outcomes, count)

    return say


def test_a_log_gets_a_line_now_and_then_and_one_at_the_end() -> None:
    lines = shown(io.StringIO(), every_second(100)).removeprefix(FIRST_LINE).splitlines()
    assert EVERY_S == 30
    assert lines == [
        "kit attack: the untouched bundle passes; 100 mutations to try",
        "kit attack: 30 of 100, family files: 30 of 30 refused, about 70 s left",
        "kit attack: 60 of 100, family files: 60 of 60 refused, about 40 s left",
        "kit attack: 90 of 100, family files: 90 of 90 refused, about 10 s left",
        "kit attack: 100 of 100, family files: 100 of 100 refused",
    ]


def test_a_terminal_gets_one_line_that_is_gone_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    text = shown(Terminal(), every_second(3))
    assert "\n" not in text
    assert text.endswith(RENEW)
    lines = text.split(RENEW)[1:-1]
    assert lines[-1] == "kit attack: 3 of 3, family files: 3 of 3 refused"[:39]
    assert all(len(line) < 40 for line in lines)


@pytest.mark.parametrize("stream", [io.StringIO(), Terminal()])
def test_what_did_not_end_as_it_must_is_told_at_once_and_cannot_write_to_the_terminal(stream: io.StringIO) -> None:
    text = shown(stream, lambda progress, _: progress([outcome(), outcome(fault="named \x1b[2J")], 9))
    assert "NOT AS IT MUST BE  files/any: named \\x1b[2J\n" in text


def test_a_line_is_left_where_an_attack_is_interrupted() -> None:
    stream = Terminal()
    with pytest.raises(KeyboardInterrupt), Progress(stream):
        raise KeyboardInterrupt
    assert stream.getvalue().endswith(RENEW)


def test_what_only_an_anchor_refuses_is_counted_apart() -> None:
    outcomes = [outcome(), outcome(fault="passed the audit"), outcome("consistent", anchored=True)]
    assert sentence(outcomes, 9, 3.0) == "3 of 9, family consistent: 1 of 2 refused, 1 left to an anchor"


def test_long_times_are_told_in_minutes() -> None:
    assert [duration(seconds) for seconds in (0, 89.4, 90, 1234)] == ["0 s", "89 s", "2 min", "21 min"]
