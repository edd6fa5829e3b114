"""Running a notebook strictly: one small notebook a behaviour."""

import json
import os
from pathlib import Path

import pytest

from kit.campaign.notebook import (
    NotebookFailedError,
    NotebookRefusedError,
    check_parameters,
    declared_parameters,
    execute,
)

PARAMETERS = 'profile = "p.toml"\nrun_dir: str = ""\ncount = 3  # how many\n'


def write(path: Path, *sources: str, parameters: str | None = PARAMETERS, tags: tuple[str, ...] = ()) -> Path:
    cells = [] if parameters is None else [(parameters, ["parameters"])]
    cells += [(source, list(tags)) for source in sources]
    notebook = {
        "cells": [
            {
                "cell_type": "code", "id": f"c{i}", "metadata": {"tags": tag}, "source": source.splitlines(True),
                "outputs": [], "execution_count": None,
            }
            for i, (source, tag) in enumerate(cells)
        ],
        "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
        "nbformat": 4, "nbformat_minor": 5,
    }  # fmt: skip
    path.write_text(json.dumps(notebook))
    return path


class TestDeclaredParameters:
    def test_literals_with_and_without_annotation(self, tmp_path):
        found = declared_parameters(write(tmp_path / "n.ipynb"))
        assert found == {"profile": "p.toml", "run_dir": "", "count": 3}

    @pytest.mark.parametrize("text", ['a: "int | None" = None\n', 'b = "x=1"\n', "c = [1, 2]\n"])
    def test_what_a_regex_reader_would_miss(self, tmp_path, text):
        assert len(declared_parameters(write(tmp_path / "n.ipynb", parameters=text))) == 1

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("a = 1\nb = a * 2\n", "b is computed"),
            ("a = 1\na = 2\n", "line 2"),
            ("import os\n", "line 1"),
            ("a, b = 1, 2\n", "line 1"),
        ],
    )
    def test_anything_but_literals_is_refused(self, tmp_path, text, message):
        with pytest.raises(NotebookRefusedError, match=message):
            declared_parameters(write(tmp_path / "n.ipynb", parameters=text))

    def test_missing_tag_is_refused(self, tmp_path):
        with pytest.raises(NotebookRefusedError, match="0 cells tagged"):
            declared_parameters(write(tmp_path / "n.ipynb", "x = 1", parameters=None))

    def test_raises_exception_tag_is_refused(self, tmp_path):
        with pytest.raises(NotebookRefusedError, match="raises-exception"):
            declared_parameters(write(tmp_path / "n.ipynb", "1/0", tags=("raises-exception",)))


class TestCheckParameters:
    def test_unknown_name(self, tmp_path):
        with pytest.raises(NotebookRefusedError, match="no parameter 'typo'; it has profile, run_dir, count"):
            check_parameters(write(tmp_path / "n.ipynb"), {"typo": 3})

    @pytest.mark.parametrize("value", ["4", 4.0, True, None])
    def test_wrong_type(self, tmp_path, value):
        with pytest.raises(NotebookRefusedError, match="parameter count is"):
            check_parameters(write(tmp_path / "n.ipynb"), {"count": value})


class TestExecute:
    def test_the_sockets_of_a_kernel_are_its_own_and_go_with_it(self, tmp_path):
        show = "import json, glob, os\nfrom ipykernel.connect import get_connection_file\n"
        show += "ip = json.load(open(get_connection_file()))['ip']\nprint(ip, len(glob.glob(ip + '-*')))"
        folders = set()
        for name in ("a", "b"):
            output = tmp_path / "out" / f"{name}.ipynb"
            execute(write(tmp_path / f"{name}.ipynb", show), output, {})
            said = "".join(text for cell in json.loads(output.read_text())["cells"] for o in cell["outputs"] for text in o["text"])
            ip, sockets = said.split()
            assert int(sockets) == 5
            assert not Path(ip).parent.exists()
            folders.add(Path(ip).parent)
        assert len(folders) == 2

    def test_runs_with_the_given_values_and_drops_machine_facts(self, tmp_path):
        source = write(tmp_path / "n.ipynb", "print(count * 2)")
        execute(source, tmp_path / "out" / "n.ipynb", {"count": 21})
        text = (tmp_path / "out" / "n.ipynb").read_text()
        assert "42" in text
        assert str(tmp_path) not in text

    def test_refusal_starts_nothing(self, tmp_path):
        with pytest.raises(NotebookRefusedError):
            execute(write(tmp_path / "n.ipynb"), tmp_path / "out.ipynb", {"count": "3"})
        assert not (tmp_path / "out.ipynb").exists()

    @pytest.mark.parametrize(
        ("source", "error"),
        [
            ("1 / 0", "ZeroDivisionError"),
            ("import sys; sys.exit(3)", "SystemExit"),
            ("import sys; sys.exit(0)", "SystemExit"),
            ("import os; os._exit(9)", "DeadKernel"),
        ],
        ids=["error", "exit-3", "exit-0", "dead-kernel"],
    )
    def test_anything_but_reaching_the_end_is_a_failure(self, tmp_path, source, error):
        notebook = write(tmp_path / "n.ipynb", source, "print('after')")
        with pytest.raises(NotebookFailedError) as caught:
            execute(notebook, tmp_path / "out.ipynb", {})
        assert caught.value.error == error
        assert (tmp_path / "out.ipynb").exists()

    def test_what_a_dying_kernel_says_is_shown(self, tmp_path, capfd):
        source = (
            "import os\nfrom ipykernel.kernelapp import IPKernelApp\n"
            "IPKernelApp.instance().log.error('no more sockets')\nos._exit(9)"
        )
        with pytest.raises(NotebookFailedError, match="DeadKernel"):
            execute(write(tmp_path / "n.ipynb", source), tmp_path / "out.ipynb", {})
        assert "no more sockets" in capfd.readouterr().err

    def test_ctrl_c_is_passed_on_and_the_kernel_is_gone_without_a_word(self, tmp_path, capfd):
        pid_file = tmp_path / "pid"
        source = (
            "import os, signal, time\n"
            f"with open({str(pid_file)!r}, 'w') as file: file.write(str(os.getpid()))\n"
            "os.kill(os.getppid(), signal.SIGINT)\n"
            "time.sleep(60)"
        )
        with pytest.raises(KeyboardInterrupt):
            execute(write(tmp_path / "n.ipynb", source), tmp_path / "out.ipynb", {})
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid_file.read_text()), 0)
        assert capfd.readouterr().err == ""

    def test_a_cell_that_never_ends_is_stopped(self, tmp_path):
        notebook = write(tmp_path / "n.ipynb", "import time; time.sleep(60)")
        with pytest.raises(NotebookFailedError, match="CellTimeout"):
            execute(notebook, tmp_path / "out.ipynb", {}, cell_timeout=2)
