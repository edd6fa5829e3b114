"""Tables keep their names where nobody says how wide the output is."""

import pytest

from kit.terminal import WIDTH, console


def test_a_pipe_is_as_wide_as_a_table_needs(capsys: pytest.CaptureFixture[str]) -> None:
    console().print("x" * WIDTH)
    assert capsys.readouterr().out.splitlines() == ["x" * WIDTH]


def test_brackets_are_shown_unless_styles_are_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    console().print("[bold]a[/bold] 1")
    console(markup=True).print("[bold]a[/bold] 1")
    assert capsys.readouterr().out == "[bold]a[/bold] 1\na 1\n"
