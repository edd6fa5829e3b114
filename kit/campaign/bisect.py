"""`kit bisect`: where two engines come apart on one request, stage by stage along the walk.

Covers: finding the request, loading the two engines (an engine may be given in another dtype, as `native@float32`),
the walk, and the line that ends the output. Import it after `kit.runtime.configure`, as it imports torch.
Does not cover: how stages are compared (`kit.campaign.layer_drift`), what is printed (`kit.campaign.layer_report`), or
why two engines differ.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from kit import engine as engines
from kit.campaign.generated.source import declared
from kit.campaign.layer_bounds import bits, rounding, uniform
from kit.campaign.layer_drift import LayerDriftError
from kit.campaign.layer_report import png, show
from kit.campaign.layers import BoundOf, Side, Walked, default_bound, walk
from kit.campaign.protocol import protocol_of
from kit.contract.errors import ContractError
from kit.engine.oracle import load_oracle
from kit.engine.trace import TraceError
from kit.evidence.records import write_atomic, write_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kit.engine.base import Prepared
    from kit.engine.trace import Keep
    from kit.profile import Profile

ENGINES = ("reference", "native", "graph", "oracle")
DTYPES = ("bfloat16", "float32", "float64")
BOUNDS = ("auto", "bits", "rounding")


class BisectError(ValueError):
    """What was asked for cannot be bisected; the message says what can."""


@dataclasses.dataclass(frozen=True)
class Asked:
    """The command line. question: "" walks all questions of the request. keep: see `kit.engine.trace.Trace`."""

    request: str
    engine: str
    against: str
    question: str = ""
    bound: str = "auto"
    keep: Keep = "all"


def run(profile: Profile, asked: Asked, *, plot: Path | None = None, json: Path | None = None) -> dict[str, Any]:
    """Walk, print, draw, write. Returns the line that ends the output, which `exit_code` reads.

    Where it cannot be judged, the line says why under "problem". Raises what loading an engine raises.
    """
    try:
        document = bisect(profile, asked)
    except (BisectError, ContractError, TraceError, LayerDriftError) as error:
        print(f"kit: {error}", file=sys.stderr)
        return {"engine": asked.engine, "against": asked.against, "request": asked.request, "problem": str(error)}
    (pair,) = document["pairs"]
    show(pair)
    if plot is not None:
        write_atomic(plot, png(pair))
    if json is not None:
        write_json(json, document)
    return summary(pair)


def bisect(profile: Profile, asked: Asked) -> dict[str, Any]:
    """layers.json of one pair and one request."""
    names = (asked.engine, asked.against)
    for name in names:
        _parse_engine(name)
    if asked.engine == asked.against:
        raise BisectError(f"--engine and --against are both {asked.engine}: an engine does not come apart from itself")
    body = find_request(profile, asked.request)
    with loaded(profile, names) as sides:
        prepared = chosen_question(sides[0].engine.prepare(body), asked.question)
        for side in sides:
            if side.dtype != "oracle":
                side.engine.decide(prepared)  # autotuned kernels choose, and a graph engine captures: what follows is a replay
        pair = (sides[0].name, sides[1].name)
        bound = parse_bound(asked.bound, *sides)
        return walk(sides, [pair], [Walked(asked.request, prepared)], bounds={pair: bound}, keep=asked.keep)


def find_request(profile: Profile, request: str) -> bytes:
    """The body of a request of the protocol, of a file, or of a generated one. Raises BisectError for none of them."""
    cases = {case.id: case.body for case in protocol_of(profile).cases}
    if request in cases:
        return cases[request]
    if Path(request).is_file():
        return Path(request).read_bytes()
    for case in declared(profile.generated):
        if case.id == request:
            return case.body
    generated = f"the {profile.generated.questions} generated ones" if profile.generated.questions else "a generated one"
    raise BisectError(f"no request {request!r}: no file, not {generated}, nor one of the protocol: {', '.join(cases)}")


def chosen_question(prepared: Prepared, question: str) -> Prepared:
    """The request with that question alone; all of it for "". Raises BisectError for an unknown one."""
    items = tuple(item for item in prepared.questions if question in ("", item.question.id))
    if not items:
        known = ", ".join(item.question.id for item in prepared.questions)
        raise BisectError(f"no question {question!r} in this request, which has {known}")
    return dataclasses.replace(prepared, questions=items)


@contextmanager
def loaded(profile: Profile, names: Sequence[str]) -> Iterator[list[Side]]:
    """The engines by name (`native`, `native@float32`), closed in the end.

    On a GPU an engine of the reference's dtype reads the reference's weights, so that they lie there once; that its
    own loader makes the same ones of the checkpoint is then not seen here, and is what the sums of a run compare.
    """
    sides: dict[str, Side] = {}
    with ExitStack() as stack:
        for name in sorted(names, key=lambda name: not name.startswith("reference")):
            official = sides.get(name.replace(name.partition("@")[0], "reference"))
            engine = _load(profile, name, official.engine if official else None)
            stack.callback(engine.close)
            sides[name] = Side.of(name, engine)
        yield [sides[name] for name in names]


def _load(profile: Profile, name: str, official: Any) -> Any:
    kind, dtype = _parse_engine(name)
    if kind == "oracle":
        return load_oracle(profile)
    if dtype:
        profile = dataclasses.replace(profile, runtime=dataclasses.replace(profile.runtime, dtype=cast(Any, dtype)))
    if official is None or profile.runtime.device != "cuda":
        return engines.load(kind, profile)
    return engines.load_beside(kind, profile, official)


def _parse_engine(name: str) -> tuple[str, str]:
    """(engine, dtype or "" for the profile's). Raises BisectError for one that does not compute in this process."""
    kind, at, dtype = name.partition("@")
    if kind not in ENGINES or (at and (dtype not in DTYPES or kind == "oracle")):
        raise BisectError(
            f"no engine {name!r} to walk: expected {', '.join(ENGINES)}, or one of the first three in another dtype, "
            f"e.g. native@float32 ({', '.join(DTYPES)}). An engine behind a URL shows probabilities and no stages"
        )
    return kind, dtype


def parse_bound(text: str, side: Side, against: Side) -> BoundOf:
    """auto, bits, rounding, or a relative RMS. Raises BisectError for anything else."""
    if text == "auto":
        return default_bound(side, against)
    if text == "bits":
        return lambda stages: bits()
    if text == "rounding":
        return lambda stages: rounding(stages, (side.dtype, against.dtype))
    try:
        limit = float(text)
        uniform(limit, ())
    except ValueError as error:
        raise BisectError(f"--bound {text}: expected {', '.join(BOUNDS)}, or a relative RMS like 0.01") from error
    return lambda stages: uniform(limit, stages)


def summary(pair: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON line. first: the earliest stage over its bound in any prompt."""
    over = {stage for prompt in pair["prompts"] for stage, is_over in zip(prompt["stages"], prompt["over"], strict=True) if is_over}
    return {
        "engine": pair["engine"],
        "against": pair["against"],
        "request": pair["prompts"][0]["request"],
        "questions": len(pair["prompts"]),
        "bound": pair["bound"],
        "stages": sum(len(prompt["stages"]) for prompt in pair["prompts"]),
        "different": sum(sum(map(bool, prompt["different"])) for prompt in pair["prompts"]),
        "over": pair["over"],
        "first_over": next((stage for stage in pair["worst"] if stage in over), None),
    }


def exit_code(line: Mapping[str, Any]) -> int:
    """0: no stage over its bound; 1: some are; 2: nothing was judged."""
    return 2 if "problem" in line else int(bool(line["over"]))
