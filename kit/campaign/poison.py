"""Values that are not finite, in pixels and in weights: an engine must report them and never answer.

Covers: an engine loaded in this process, given NaN and infinite pixels and one NaN in a weight of the language
model, of its adapter or of the vision tower, for a text and for an image request; the same bits again once the
value has been put back; the same engine behind the worker's admission, which has to refuse with 503 and stay
shut; and its memory, which goes when it is closed. The faults are put in from outside: pixels are made from
bytes and cannot be other than finite, and no engine has a switch for it.
Does not cover: checkpoints that hold such values on disk (`kit checkpoint verify`) or refuse to load.
"""

from __future__ import annotations

import dataclasses
import gc
import hashlib
import logging
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, cast

from kit.campaign.drill import Drill
from kit.campaign.plan import feasibility_cases

if TYPE_CHECKING:
    from torch import Tensor

    from kit.campaign.run_folder import Run
    from kit.contract.answer import Calibration
    from kit.engine.base import Engine, Prepared
    from kit.model.language import Language
    from kit.model.vision import Vision
    from kit.profile import Profile

KEPT_BYTES = 256 << 20  # libraries keep workspaces of their own when the weights have gone
NOT_FINITE = {"NaN": math.nan, "infinity": math.inf}


class Native(Protocol):
    """The parts of a native engine that can be poisoned, beside the engine itself."""

    language: Language
    vision: Vision
    calibration: Calibration


def drills(run: Run, engine: str) -> Iterator[Drill]:
    """Load the engine, poison and heal it, then serve and close it."""
    from kit import engine as engines
    from kit import runtime

    runtime.configure(run.profile)
    on_gpu = run.profile.runtime.device == "cuda"
    held = allocated_bytes() if on_gpu else 0
    loaded = engines.load(engine, run.profile)
    bodies: dict[str, bytes] = {case.modality: case.body for case in feasibility_cases(run.protocol)}
    yield from poisoned_engine(loaded, bodies)
    yield poisoned_server(loaded, run.profile, bodies)
    del loaded
    if on_gpu:
        kept = allocated_bytes() - held
        observed = {"kept_bytes": kept, "tolerance_bytes": KEPT_BYTES}
        yield Drill("closed-engine", {"the weights have left the device": kept <= KEPT_BYTES}, observed)


def poisoned_engine(engine: Engine, bodies: dict[str, bytes]) -> Iterator[Drill]:
    """Non-finite pixels, then non-finite weights, each followed by the requests that must give their old bits."""
    prepared = {modality: engine.prepare(body) for modality, body in bodies.items()}
    for request in prepared.values():
        engine.decide(request)  # where graphs are kept: captured now, so that replays are poisoned below
    clean = {modality: bits_of(engine, request) for modality, request in prepared.items()}
    if "image" in prepared:
        yield _pixels(engine, prepared["image"], clean["image"])
    yield _weights(engine, prepared, clean)


def _pixels(engine: Engine, image: Prepared, clean: str) -> Drill:
    checks, observed = {}, {}
    for name, value in NOT_FINITE.items():
        assert image.pixels is not None
        pixels = image.pixels.clone()
        pixels[-1, -1] = value
        observed[name] = said = outcome(engine, dataclasses.replace(image, pixels=pixels))
        checks[f"{name}: reported"] = said.startswith("error")
        checks[f"{name}: the next image gives its old bits"] = bits_of(engine, image) == clean
    return Drill("not-finite-pixels", checks, observed)


def _weights(engine: Engine, prepared: dict[str, Prepared], clean: dict[str, str]) -> Drill:
    checks, observed = {}, {}
    for place, (tensor, modalities) in places(cast(Native, engine)).items():
        for modality in (m for m in modalities if m in prepared):
            name = f"{place}, {modality}"
            with poisoned(tensor):
                observed[name] = said = outcome(engine, prepared[modality])
            checks[f"{name}: reported"] = said.startswith("error")
        for modality, request in prepared.items():
            checks[f"{place}: healed, the {modality} gives its old bits"] = bits_of(engine, request) == clean[modality]
    return Drill("not-finite-weights", checks, observed)


def places(engine: Native) -> dict[str, tuple[Tensor, tuple[str, ...]]]:
    """A weight of each part of the model, and the kinds of request that pass through it."""
    down = engine.language.layers[-1].mlp.down
    found = {
        "first layer": (engine.language.layers[0].mlp.down.weight, ("text", "image")),
        "final norm": (engine.language.norm, ("text", "image")),
        "vision tower": (engine.vision.merger_fc2.weight, ("image",)),
    }
    if down.up is not None:
        found["adapter"] = (down.up, ("text", "image"))
    return found


@contextmanager
def poisoned(tensor: Tensor) -> Iterator[None]:
    """One element is NaN for the length of a block."""
    import torch

    first = (0,) * tensor.dim()
    with torch.inference_mode():  # weights may be inference tensors
        kept = tensor[first].clone()
        tensor[first] = math.nan
    try:
        yield
    finally:
        with torch.inference_mode():
            tensor[first] = kept


def outcome(engine: Engine, request: Prepared) -> str:
    """ "error: ..." for an engine that reports it, "answer: ..." for one that does not notice."""
    try:
        decision = engine.decide(request)
    except Exception as error:
        return f"error: {type(error).__name__}: {error}"
    return f"answer: {decision.answers}"


def bits_of(engine: Engine, request: Prepared) -> str:
    """Digest of every hidden row and label logit of a request."""
    digest = hashlib.sha256()
    for question in engine.decide(request).questions:
        digest.update(question.hidden + repr(question.logits).encode())
    return digest.hexdigest()


# ---------------------------------------------------------------- behind the admission


def poisoned_server(engine: Engine, profile: Profile, bodies: dict[str, bytes]) -> Drill:
    """The engine as a worker holds it: an answer, then poison and 503, then nothing but 503. Closes the engine."""
    from kit.serve.admission import Admission
    from kit.serve.recorder import Recorder

    native = cast(Native, engine)
    recorder = Recorder(None, engine.name, profile.model.name)
    admission = Admission(engine, profile.model.name, native.calibration, recorder)
    body = next(iter(bodies.values()))
    try:
        before = _submitted(admission, body, 1)
        with poisoned(native.language.norm), _unlogged("kit.serve.admission"):
            during = _submitted(admission, body, 2)
        after = _submitted(admission, body, 3)
        closed = admission.closed_reply()
    finally:
        admission.close()
    checks = {
        "a healthy engine answers": before == 200,
        "a poisoned one is no answer but 503": during == 503,
        "from then on everything is refused": after == 503,
        "health says so": closed is not None and closed.status == 503,
    }
    return Drill("not-finite-served", checks, {"statuses": [before, during, after]})


@contextmanager
def _unlogged(name: str) -> Iterator[None]:
    """An expected failure does not fill a notebook with its traceback."""
    logger = logging.getLogger(name)
    logger.disabled = True
    try:
        yield
    finally:
        logger.disabled = False


def _submitted(admission: Any, body: bytes, sequence: int) -> int:
    from kit.serve.admission import Job

    job = Job(sequence, "/v1/systemone", body, hashlib.sha256(body).hexdigest(), time.perf_counter_ns())
    return int(admission.submit(job).result().status)


def allocated_bytes() -> int:
    """Device memory this process's tensors take."""
    import torch

    gc.collect()
    torch.cuda.empty_cache()
    return int(torch.cuda.memory_allocated())
