"""Run one notebook headless, strictly: papermill does the running, but its word is not taken for the result.

Covers: the `parameters` cell read with `ast` (literals only; unknown names, wrong types and a missing tag
are refused before start), execution with timeouts, and the judgement afterwards: no error output,
consecutive execution counts, every code cell run. A dead kernel or `sys.exit(0)` in mid-notebook is a failure.
Ctrl-C stops the kernel and is passed on as KeyboardInterrupt.
Does not cover: whether the stage left its sentinel (`kit.campaign.pipeline` asks `stage.is_finished`).
"""

from __future__ import annotations

import ast
import json
import sys
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from kit.evidence.records import write_atomic
from kit.profile import PROJECT_ROOT

CELL_TIMEOUT_S = 3600
LONGEST_SOCKET_FOLDER = 60
START_TIMEOUT_S = 180


class NotebookRefusedError(ValueError):
    """The notebook or the parameters for it are not usable; nothing was started."""


@dataclass
class NotebookFailedError(RuntimeError):
    """The notebook ran and did not finish. `error` is the exception name of the failing cell, if any."""

    notebook: str
    cell: int | None
    error: str
    detail: str

    def __str__(self) -> str:
        where = f"cell {self.cell}" if self.cell is not None else "the notebook"
        return f"{self.notebook}: {where} failed: {self.error}: {self.detail}"


def declared_parameters(path: Path) -> dict[str, Any]:
    """Names and default values of the tagged cell. Raises NotebookRefusedError naming the offending line."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    tagged = [cell for cell in notebook["cells"] if "parameters" in _tags(cell)]
    if len(tagged) != 1:
        raise NotebookRefusedError(f"{path.name}: {len(tagged)} cells tagged 'parameters', expected exactly one")
    if any("raises-exception" in _tags(cell) for cell in notebook["cells"]):
        raise NotebookRefusedError(f"{path.name}: the tag 'raises-exception' hides failures and is not used here")
    values: dict[str, Any] = {}
    for statement in ast.parse("".join(tagged[0]["source"])).body:
        name, value = _assignment(statement)
        if name is None or name in values:
            raise NotebookRefusedError(
                f"{path.name}: parameters cell, line {statement.lineno}: expected `name = literal`, each name once"
            )
        try:
            values[name] = ast.literal_eval(value)
        except ValueError:
            raise NotebookRefusedError(
                f"{path.name}: parameters cell: {name} is computed; only literals may stand there"
            ) from None
    return values


def check_parameters(path: Path, given: dict[str, Any]) -> None:
    """Refuse a name the notebook does not declare or a value of another type than its default."""
    declared = declared_parameters(path)
    for name, value in given.items():
        if name not in declared:
            raise NotebookRefusedError(
                f"{path.name}: no parameter {name!r}; it has {', '.join(declared) or 'none'}"
            )
        if type(value) is not type(declared[name]):
            raise NotebookRefusedError(
                f"{path.name}: parameter {name} is {type(value).__name__} {value!r}, "
                f"expected {type(declared[name]).__name__} like its default {declared[name]!r}"
            )


def execute(source: Path, output: Path, parameters: dict[str, Any], cell_timeout: int = CELL_TIMEOUT_S) -> None:
    """Run `source` with `parameters` and keep the executed copy at `output`, also when it fails.

    Raises NotebookRefusedError before anything starts, NotebookFailedError afterwards.
    """
    check_parameters(source, parameters)
    output.parent.mkdir(parents=True, exist_ok=True)
    # What cells print is in the notebook. The kernel process itself has something to say only where it died: one that is
    # shut down, or stopped by Ctrl-C, may complain about that.
    with tempfile.TemporaryFile() as kernel_errors, tempfile.TemporaryDirectory(prefix="kit-", dir=_short()) as sockets:
        kernels = _local_kernels(kernel_errors, Path(sockets))
        failure = _run_papermill(source, output, parameters, cell_timeout, kernels)
        if failure:
            kernel_errors.seek(0)
            print(kernel_errors.read().decode(errors="replace"), end="", file=sys.stderr, flush=True)
    if output.exists():
        _drop_machine_facts(output)
    if failure:
        raise failure
    judge_executed(output)


def judge_executed(path: Path) -> None:
    """Every non-empty code cell ran, in order, without an error output; else NotebookFailedError."""
    expected = 1
    for index, cell in enumerate(json.loads(path.read_text(encoding="utf-8"))["cells"]):
        if cell["cell_type"] != "code" or not "".join(cell["source"]).strip():
            continue
        for output in cell["outputs"]:
            if output["output_type"] == "error":
                raise NotebookFailedError(path.name, index, output["ename"], output["evalue"])
        if cell["execution_count"] != expected:
            raise NotebookFailedError(
                path.name, index, "NotRun",
                f"execution count is {cell['execution_count']}, expected {expected}: "
                "the kernel died or the notebook ended early",
            )  # fmt: skip
        expected += 1


def _run_papermill(
    source: Path, output: Path, parameters: dict[str, Any], cell_timeout: int, kernels: type
) -> NotebookFailedError | None:
    import papermill
    from nbclient.exceptions import CellTimeoutError, DeadKernelError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            papermill.execute_notebook(
                str(source), str(output), parameters=parameters, kernel_name="python3", cwd=str(PROJECT_ROOT),
                progress_bar=False, log_output=False, execution_timeout=cell_timeout,
                start_timeout=START_TIMEOUT_S, autosave_cell_every=30, kernel_manager_class=kernels,
            )  # fmt: skip
    except papermill.PapermillExecutionError as error:
        return NotebookFailedError(source.name, error.cell_index, error.ename, error.evalue)
    except DeadKernelError as error:
        return NotebookFailedError(source.name, None, "DeadKernel", str(error))
    except CellTimeoutError as error:
        return NotebookFailedError(source.name, None, "CellTimeout", str(error).splitlines()[0])
    except RuntimeError as error:  # nbclient's word for a kernel that never came up
        return NotebookFailedError(source.name, None, type(error).__name__, str(error))
    return None


def _short() -> str | None:
    """A folder for sockets, whose whole path may have about 100 characters: the usual one for temporary files, or /tmp."""
    return None if len(tempfile.gettempdir()) < LONGEST_SOCKET_FOLDER else "/tmp"


def _local_kernels(errors: IO[bytes], sockets: Path) -> type:
    """A kernel manager that talks over local sockets: no open port, and no port to race for.

    errors: where kernels' stderr goes. sockets: a folder of this run alone. By default they would lie in the working
    folder under names that every run there chooses alike, and of two runs at once one would wait for the other's kernel.
    """
    from jupyter_client.manager import AsyncKernelManager
    from traitlets import CaselessStrEnum, default

    class LocalKernelManager(AsyncKernelManager):
        transport = CaselessStrEnum(["tcp", "ipc"], default_value="ipc", config=True)

        @default("ip")
        def _ip_default(self) -> str:
            return str(sockets / "kernel")

        async def _async_launch_kernel(self, kernel_cmd: list[str], **options: Any) -> None:
            await super()._async_launch_kernel(kernel_cmd, **options, stderr=errors)

    return LocalKernelManager


def _drop_machine_facts(path: Path) -> None:
    """Take paths and host settings out of papermill's metadata; keep parameters, times and version."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    metadata = notebook["metadata"].get("papermill", {})
    for name in ("input_path", "output_path", "environment_variables"):
        metadata.pop(name, None)
    write_atomic(path, (json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n").encode())


def _tags(cell: dict[str, Any]) -> list[str]:
    tags: list[str] = cell.get("metadata", {}).get("tags", [])
    return tags


def _assignment(statement: ast.stmt) -> tuple[str | None, ast.expr]:
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name):
        return statement.targets[0].id, statement.value
    if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) and statement.value:
        return statement.target.id, statement.value
    return None, ast.Constant(None)
