"""Stages finished, and their notebooks are whole runs of the packed source."""

from __future__ import annotations

import ast
from typing import Any, List

from kit.evidence.audit.reading import Bundle
from kit.evidence.audit.rules import SENTINEL, Json, UnreadableError
from kit.evidence.audit.values import parse_json, short


def check_stages(bundle: Bundle) -> None:
    """Every stage of the profile finished, by its sentinel, with this profile."""
    digest = bundle.json("run.json")["profile_sha256"]
    for stage in bundle.stages():
        name = "stages/%s.json" % stage
        if not bundle.exists(name):
            bundle.fail(name, "is missing: the stage did not finish")
            continue
        document = bundle.json(name)
        wanted = {"format": "kit-stage/1", "stage": stage, "profile_sha256": digest, "sentinel": SENTINEL}
        for key, expected in wanted.items():
            bundle.expect("%s %s" % (name, key), document.get(key), expected)


def check_notebooks(bundle: Bundle) -> None:
    """Every executed notebook is a whole, error-free run of the packed source with the parameters it reports."""
    for stage in bundle.stages():
        name = "notebooks/%s.ipynb" % stage
        if not bundle.exists(name):
            bundle.fail(name, "is missing")
            continue
        cells = bundle.json(name)["cells"]
        check_notebook_source(bundle, name, cells)
        check_notebook_run(bundle, name, cells)
        check_notebook_parameters(bundle, name, cells, "stages/%s.json" % stage)


def check_notebook_source(bundle: Bundle, name: str, cells: List[Json]) -> None:
    if name not in bundle.sources():
        bundle.fail(name, "has no source in source.tar.gz")
        return
    original = parse_json(bundle.sources()[name], "source.tar.gz: %s" % name)["cells"]
    injected = [index for index, cell in enumerate(cells) if "injected-parameters" in tags(cell)]
    if injected not in ([], [position_of("parameters", cells) + 1]):
        bundle.fail(name, "has injected cells where none belong")
    kept = [(cell["cell_type"], joined(cell)) for i, cell in enumerate(cells) if i not in injected]
    if kept != [(cell["cell_type"], joined(cell)) for cell in original]:
        bundle.fail(name, "its cells are not those of the packed source")


def check_notebook_run(bundle: Bundle, name: str, cells: List[Json]) -> None:
    count = 0
    for index, cell in enumerate(cells):
        if cell["cell_type"] != "code" or not joined(cell).strip():
            continue
        count += 1
        at = "%s cell %d" % (name, index)
        if cell.get("execution_count") != count:
            message = "execution count is %s, expected %d: it did not run to the end in order"
            bundle.fail(at, message % (cell.get("execution_count"), count))
        if any(output.get("output_type") == "error" for output in cell["outputs"]):
            bundle.fail(at, "ended in an error, expected none")
        if "nbval-check-output" in tags(cell):
            check_verdict_cell(bundle, at, cell["outputs"])
    if not count:
        bundle.fail(name, "has no code")


def check_verdict_cell(bundle: Bundle, at: str, outputs: List[Json]) -> None:
    """A verdict cell printed its verdict, and that is a pass."""
    if not outputs:
        bundle.fail(at, "is a verdict cell without output")
        return
    text = "".join(joined(output, "text") for output in outputs if output.get("output_type") == "stream")
    last = (text.rstrip().split("\n") or [""])[-1].split()
    if last[:2] != ["this", "stage"] or last[-1:] != ["PASS"]:
        bundle.fail(at, "is a verdict cell that ends in %s, expected this stage to PASS" % short(" ".join(last)))


def check_declared_profile(bundle: Bundle) -> None:
    """Every stage was given one profile; where that file is packed, it is the bundle's own profile.toml."""
    given = {}
    for stage in bundle.stages():
        name = "stages/%s.json" % stage
        if bundle.exists(name):
            given[name] = bundle.json(name)["parameters"].get("profile")
    for name, path in given.items():
        bundle.expect("%s parameters profile" % name, path, next(iter(given.values())))
        packed = bundle.sources().get(str(path))
        if packed is None:
            bundle.leave("the profile as the stages were given it (%s is not in the packed sources)" % short(path))
        elif packed != bundle.read("profile.toml"):
            bundle.fail("profile.toml", "is not the packed %s that the stages were given" % short(path))


def check_notebook_parameters(bundle: Bundle, name: str, cells: List[Json], stage: str) -> None:
    found: Json = {}
    for cell in cells:
        if "parameters" in tags(cell) or "injected-parameters" in tags(cell):
            found.update(literals(joined(cell), name))
    if bundle.exists(stage):
        reported = bundle.json(stage).get("parameters")
        if found.get("run_dir") != bundle.json("run.json")["id"]:
            bundle.fail(name, "is of run %s" % short(found.get("run_dir")))
        if reported != found:
            bundle.fail(name, "ran with %s, expected what %s reports: %s" % (short(found), stage, short(reported)))


def position_of(tag: str, cells: List[Json]) -> int:
    return next((index for index, cell in enumerate(cells) if tag in tags(cell)), -2)


def tags(cell: Json) -> List[str]:
    return list(cell.get("metadata", {}).get("tags", ()))


def joined(cell: Json, key: str = "source") -> str:
    source = cell[key]
    return source if isinstance(source, str) else "".join(source)


def literals(text: str, where: str) -> Json:
    values: Json = {}
    line = 0
    try:
        for statement in ast.parse(text).body:
            line = statement.lineno
            target: Any = (
                statement.targets[0] if isinstance(statement, ast.Assign) else getattr(statement, "target", 0)
            )
            values[target.id] = ast.literal_eval(getattr(statement, "value", None))  # type: ignore[arg-type]
    except (SyntaxError, ValueError, AttributeError, TypeError) as error:  # whose own text may hold an address
        raise UnreadableError(
            "%s: a parameters cell holds more than literals (%s, line %d)" % (where, type(error).__name__, line)
        ) from error
    return values
