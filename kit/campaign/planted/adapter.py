"""Faults in the weights: pairs of the adapter dropped, scaled, merged or on the wrong projection.

A fault replaces projections of a loaded engine by others; tensors that the engine shares are never written to.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kit.campaign.planted.fault import Fault, in_engine
from kit.kernels import Projection
from kit.model.language import DeltaMixer, Layer

if TYPE_CHECKING:
    from kit.engine.native import NativeEngine

Change = Callable[[int, str, Projection], Projection]  # layer, name of the projection in it


def rewrite(engine: NativeEngine, change: Change) -> None:
    """Replace every projection of the language model by what `change` makes of it."""
    engine.language.layers = tuple(_layer(number, layer, change) for number, layer in enumerate(engine.language.layers))


def _layer(number: int, layer: Layer, change: Change) -> Layer:
    def changed(part: Any) -> Any:
        found = {name: change(number, name, value) for name, value in vars(part).items() if isinstance(value, Projection)}
        return dataclasses.replace(part, **found)

    return dataclasses.replace(layer, mixer=changed(layer.mixer), mlp=changed(layer.mlp))


def _last(engine: NativeEngine) -> int:
    return len(engine.language.layers) - 1


def _drop(engine: NativeEngine, where: str) -> None:
    """where: "last" or "first" for the pair of `down` of that layer, a projection's name for that one everywhere, "all"."""
    only = {"last": _last(engine), "first": 0}.get(where)

    def change(layer: int, name: str, projection: Projection) -> Projection:
        hit = (layer == only and name == "down") if only is not None else where in ("all", name)
        return Projection(projection.weight) if hit else projection

    rewrite(engine, change)


def _scale_layer(last: bool) -> Callable[[NativeEngine, float], None]:
    def scale(engine: NativeEngine, factor: float) -> None:
        chosen = _last(engine) if last else 0
        rewrite(engine, lambda layer, _, p: p._replace(scale=p.scale * factor) if layer == chosen else p)

    return scale


def _forget_alpha(engine: NativeEngine, dose: None) -> None:
    rewrite(engine, lambda layer, name, p: p._replace(scale=1.0))


def _merge(engine: NativeEngine, where: str) -> None:
    only = {"last layer": _last(engine), "first layer": 0}.get(where)
    rewrite(engine, lambda layer, _, p: merged(p) if only in (None, layer) else p)


def merged(projection: Projection) -> Projection:
    """The pair folded into the weight, rounded to the weight's dtype."""
    weight, down, up, scale = projection
    if down is None or up is None:
        return projection
    return Projection((weight.to(down.dtype) + (up @ down) * scale).to(weight.dtype))


def _exchange(engine: NativeEngine, pair: str) -> None:
    """The pairs of two projections of one input, where they have one shape, on each other's weight."""
    one, two = pair.split(" and ")
    layers = engine.language.layers

    def change(layer: int, name: str, projection: Projection) -> Projection:
        parts = vars(layers[layer].mixer) | vars(layers[layer].mlp)
        if name not in (one, two) or one not in parts or two not in parts:
            return projection
        other: Projection = parts[two if name == one else one]
        return Projection(projection.weight, other.down, other.up, other.scale)

    rewrite(engine, change)


def _a_log_in_place_of_bias(engine: NativeEngine, dose: None) -> None:
    """Two vectors of one shape read from each other's name."""
    engine.language.layers = tuple(
        dataclasses.replace(layer, mixer=dataclasses.replace(layer.mixer, a_log=layer.mixer.dt_bias, dt_bias=layer.mixer.a_log))
        if isinstance(layer.mixer, DeltaMixer)
        else layer
        for layer in engine.language.layers
    )


SCALES = (("1.01", 1.01), ("1.1", 1.1), ("1.5", 1.5))
FAULTS = (
    Fault(
        "adapter-dropped", "weights", "the adapter's pair is missing: in one layer's `down`, in all of them, altogether",
        in_engine(_drop), (("down, last layer", "last"), ("down, first layer", "first"), ("down, all layers", "down"), ("off", "all")),
    ),
    Fault("adapter-scaled-last", "weights", "the last layer's pairs weigh more", in_engine(_scale_layer(True)), SCALES),
    Fault("adapter-scaled-first", "weights", "the first layer's pairs weigh more", in_engine(_scale_layer(False)), SCALES),
    Fault("adapter-alpha", "weights", "the adapter's alpha / rank is taken as 1", in_engine(_forget_alpha)),
    Fault(
        "adapter-merged", "weights", "the adapter merged into the BF16 weights",
        in_engine(_merge), (("last layer", "last layer"), ("first layer", "first layer"), ("all layers", "all")),
    ),
    Fault(
        "adapter-exchanged", "weights", "pairs on each other's projection, as in a stack put together in another order",
        in_engine(_exchange), (("k and v", "k and v"), ("a and b", "a and b"), ("gate and up", "gate and up")),
    ),
    Fault("a-log-dt-bias", "weights", "A_log and dt_bias read from each other's name", in_engine(_a_log_in_place_of_bias)),
)  # fmt: skip
