"""Faults in where things are: positions of tokens and patches, order and shape of images, their pixels.

Each replaces a table, or what an engine prepares, by what another convention would give.
"""

from __future__ import annotations

import base64
import dataclasses
import io
import json
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from kit.campaign.planted.fault import IMAGE, IMAGES, TEXT, Fault, Plant, in_engine
from kit.campaign.planted.site import Site, Subject
from kit.checkpoint.tokens import positions
from kit.contract.images import decode_image
from kit.model.pixels import MERGE, PATCH, grid_of
from kit.model.rope import TextRotary
from kit.model.vision import VisionTables

if TYPE_CHECKING:
    from kit.engine.base import Grid, Prepared
    from kit.engine.native import Mode, NativeEngine

JPEG = "waiting-room-jpeg"  # 500x333, so it is resized
CHANGED, SWAPPED = "console-256x256-changed", "images-2-swapped"
CLIP = ((0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711))  # mean, deviation of another family


class _Shifted(TextRotary):
    """The axes one place on: what belongs to time turns with the height, and so forth."""

    def _table(self, axes: Tensor) -> Tensor:
        return super()._table(axes.roll(1, dims=0))


class _Blocked(TextRotary):
    """The frequencies of each axis in one block behind the other instead of interleaved."""

    def _table(self, axes: Tensor) -> Tensor:
        parts = [axis[:, part] for axis, part in zip(axes, self._blocks(), strict=True)]
        mixed = torch.cat(parts, dim=-1)
        return torch.cat((mixed, mixed), dim=-1).to(self.dtype)

    def _blocks(self) -> list[slice]:
        ends = [sum(self._sections[: i + 1]) for i in range(3)]
        return [slice(end - size, end) for end, size in zip(ends, self._sections, strict=True)]


def _rotary(kind: type[TextRotary]) -> Callable[[NativeEngine, None], None]:
    def change(engine: NativeEngine, dose: None) -> None:
        engine.rotary = kind(engine.config.text, engine.dtype, engine.device)

    return change


def _whole_head(engine: NativeEngine, dose: None) -> None:
    """Every dimension of a head turns, as in models without partial rotary."""
    text = dataclasses.replace(engine.config.text, rotary_dim=engine.config.text.head_dim, mrope_section=(engine.config.text.head_dim // 2, 0, 0))
    engine.rotary = TextRotary(text, engine.dtype, engine.device)
    run = engine.run_language

    def run_language(mode: Mode, embeddings: Tensor, cos: Tensor, sin: Tensor) -> Any:
        if mode == "text":  # these tables were made with the engine
            cos, sin = engine.rotary.tables(torch.arange(len(embeddings), device=engine.device).repeat(3, 1))
        return run(mode, embeddings, cos, sin)

    engine.run_language = run_language  # type: ignore[method-assign]


def _prepared(change: Callable[[Prepared, Any, int], Prepared]) -> Plant:
    """A native engine whose requests are changed after they were prepared. change: (prepared, dose, image token)."""

    def plant(site: Site, dose: Any) -> Subject:
        engine = site.native()
        return Subject(engine, prepare=lambda body: change(engine.prepare(body), dose, engine.config.image_token_id))

    return plant


def _as_text(prepared: Prepared, dose: None, image_token: int) -> Prepared:
    """All three axes count tokens, images too."""
    return _with_positions(prepared, lambda ids: (tuple(range(len(ids))),) * 3)


def _transposed(prepared: Prepared, dose: None, image_token: int) -> Prepared:
    """The first image that is not square, height and width exchanged; its patches stay in their order."""
    grids = list(prepared.grids)
    for index, (frames, rows, columns) in enumerate(grids):
        if rows != columns:
            grids[index] = (frames, columns, rows)
            break
    changed = dataclasses.replace(prepared, grids=tuple(grids))
    return _with_positions(changed, lambda ids: positions(ids, grids, image_token, MERGE))


def _with_positions(prepared: Prepared, axes: Callable[[Sequence[int]], Any]) -> Prepared:
    questions = tuple(dataclasses.replace(item, positions=axes(item.input_ids)) for item in prepared.questions)
    return dataclasses.replace(prepared, questions=questions)


def _pixels(change: Callable[[Tensor, Any], Tensor]) -> Plant:
    """change: (pixels [N, 3, 512], dose) -> the same shape."""

    def apply(prepared: Prepared, dose: Any, image_token: int) -> Prepared:
        if prepared.pixels is None:
            return prepared
        pixels = prepared.pixels
        return dataclasses.replace(prepared, pixels=change(pixels.view(len(pixels), 3, -1), dose).reshape(pixels.shape))

    return _prepared(apply)


def _normalised_otherwise(pixels: Tensor, convention: str) -> Tensor:
    shares = pixels * 0.5 + 0.5
    if convention == "0 to 1":
        return shares
    mean, deviation = (torch.tensor(values).view(1, 3, 1) for values in CLIP)
    return (shares - mean) / deviation


def _images_reversed(site: Site, dose: None) -> Subject:
    engine = site.native()

    def prepare(body: bytes) -> Prepared:
        request = json.loads(body)
        request["images"] = list(reversed(request.get("images") or []))
        return engine.prepare(json.dumps(request).encode())

    return Subject(engine, prepare=prepare)


def _resized_by_pillow(site: Site, filter: str) -> Subject:
    """Pictures brought to their size by Pillow before the engine sees them; those of the right size stay."""
    engine = site.native()

    def prepare(body: bytes) -> Prepared:
        request = json.loads(body)
        if request.get("images"):
            request["images"] = [_resized(item, filter) for item in request["images"]]
        return engine.prepare(json.dumps(request).encode())

    return Subject(engine, prepare=prepare)


def _resized(item: Any, filter: str) -> Any:
    from PIL import Image as Pillow

    from kit.contract.errors import ContractError

    try:
        image = decode_image(item)
    except ContractError:
        return item
    _, rows, columns = grid_of(image.height, image.width)
    picture = Pillow.frombytes("RGB", (image.width, image.height), image.rgb)
    file = io.BytesIO()
    picture.resize((columns * PATCH, rows * PATCH), Pillow.Resampling[filter.upper()]).save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()


def _corners_not_aligned(engine: NativeEngine, dose: None) -> None:
    @lru_cache(maxsize=32)
    def tables(grids: tuple[Grid, ...]) -> VisionTables:
        own = engine.vision.tables(grids)
        found = [_centred_taps(rows, columns, engine.config.vision.grid_side) for _, rows, columns in grids]
        corners, weights = (torch.cat(parts).to(engine.device) for parts in zip(*found, strict=True))
        return dataclasses.replace(own, corners=corners, weights=weights)

    engine.vision_tables = tables


def _centred_taps(rows: int, columns: int, side: int) -> tuple[Tensor, Tensor]:
    """Bilinear taps with centres of patches on centres of table entries: (corners [N, 4], weights [N, 4])."""
    taps, shares = [], []
    for size in (rows, columns):
        point = ((torch.arange(size).float() + 0.5) * side / size - 0.5).clamp(0, side - 1)
        low = point.floor()
        taps.append(torch.stack((low, (low + 1).clamp(max=side - 1)), -1).long())
        shares.append(torch.stack((1 - (point - low), point - low), -1))
    corners = taps[0][:, None, :, None] * side + taps[1][None, :, None, :]
    weights = shares[0][:, None, :, None] * shares[1][None, :, None, :]
    return _in_blocks(corners, rows, columns), _in_blocks(weights, rows, columns)


def _in_blocks(values: Tensor, rows: int, columns: int) -> Tensor:
    """[rows, columns, 2, 2] -> [rows * columns, 4] in the order of the pixels: MERGE x MERGE blocks."""
    blocks = values.view(rows // MERGE, MERGE, columns // MERGE, MERGE, 4)
    return blocks.transpose(1, 2).reshape(-1, 4).contiguous()


FAULTS = (
    Fault("mrope-shifted", "positions", "the sections of the three axes one place on", in_engine(_rotary(_Shifted)), shows=(IMAGE,)),
    Fault("mrope-blocked", "positions", "the sections of the three axes in blocks instead of interleaved", in_engine(_rotary(_Blocked)), shows=(IMAGE,)),
    Fault("mrope-flat", "request", "image tokens counted like text on all three axes", _prepared(_as_text), shows=(IMAGE,)),
    Fault("rotary-whole-head", "positions", "rotary embedding on every dimension of a head", in_engine(_whole_head)),
    Fault("grid-transposed", "images", "height and width of one image exchanged", _prepared(_transposed), shows=(IMAGE,)),
    Fault("images-swapped", "images", "images in another order than the request's", _images_reversed, shows=(TEXT, IMAGES)),
    Fault("positions-not-aligned", "positions", "the position table interpolated with align_corners off", in_engine(_corners_not_aligned), shows=(IMAGE,)),
    Fault("bgr", "images", "blue and red exchanged", _pixels(lambda pixels, dose: pixels.flip(1)), shows=(IMAGE,)),
    Fault(
        "pixels-otherwise", "images", "pixels normalised by another convention",
        _pixels(_normalised_otherwise), (("CLIP", "CLIP"), ("0 to 1", "0 to 1")), shows=(IMAGE,),
    ),
    Fault(
        "resized-otherwise", "images", "pictures resized by Pillow instead of torch",
        _resized_by_pillow, (("bicubic", "bicubic"), ("bilinear", "bilinear"), ("nearest", "nearest")), shows=(JPEG,),
    ),
)  # fmt: skip
