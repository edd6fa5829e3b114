"""Is a checkpoint what it claims to be: file hashes, tensor names, shapes, dtypes, adapter options, values.

Covers: `verify`, which collects every problem instead of stopping at the first, and `inventory`, the same
facts as data. Sizes follow from config.json, so any size of the architecture is accepted; what the kit's
forward does not implement is refused. Does not cover: finding the files (`kit.checkpoint`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import safe_open

from kit.checkpoint import shards
from kit.checkpoint.architecture import adapter_shapes, base_shapes
from kit.checkpoint.files import CheckpointError, blob_folders, digest_of, hash_files, list_files
from kit.checkpoint.shards import ShardError, TensorInfo

if TYPE_CHECKING:
    from kit.checkpoint import CheckpointFiles
    from kit.checkpoint.pins import Pins

SHOWN = 8  # problems of one kind that are spelled out; the rest are counted
INDEX = "model.safetensors.index.json"
ADAPTER = "adapter_model.safetensors"
LOADABLE = (".safetensors", ".bin", ".pt", ".pth", ".json", ".jinja", ".py", ".txt", ".model")

# Options of adapter_config.json that change the arithmetic, and the only values under which the adapter is
# W x + (alpha / r) B A x. Options that only choose modules are covered by the tensor names.
PLAIN_LORA: dict[str, tuple[object, ...]] = {
    "peft_type": ("LORA",),
    "bias": ("none",),
    "fan_in_fan_out": (False, None),
    "use_dora": (False, None),
    "use_rslora": (False, None),
    "use_qalora": (False, None),
    "use_bdlora": (None, False),
    "lora_bias": (False, None),
    "rank_pattern": ({}, None),
    "alpha_pattern": ({}, None),
    "layer_replication": (None, []),
    "modules_to_save": (None, []),
    "target_parameters": (None, []),
    "trainable_token_indices": (None, [], {}),
    "alora_invocation_tokens": (None, []),
    "megatron_config": (None,),
    "arrow_config": (None,),
    "kasa_config": (None,),
    "monteclora_config": (None,),
}


def verify(files: CheckpointFiles, pins: Pins | None = None) -> list[str]:
    """Every problem of a checkpoint, in words; an empty list means it is intact.

    With pins every pinned file must have its SHA-256, and nothing a loader would read may be added; without,
    the files must give `files.digest`. Reads every byte, some of them twice.
    """
    problems = [*_hash_problems(files, pins)]
    base = _read(problems, _base_tensors, files.base)
    adapter = _read(problems, lambda path: shards.read_header(path / ADAPTER), files.adapter)
    config = _read(problems, lambda path: _json(path / "config.json"), files.base)
    options = _read(problems, lambda path: _json(path / "adapter_config.json"), files.adapter)
    if config is not None and base is not None:
        problems += _base_problems(config, base, pins)
    if options is not None:
        problems += adapter_option_problems(options)
        if config is not None and adapter is not None:
            problems += _adapter_problems(config, options, adapter, pins)
    for infos, folder in ((base, files.base), (adapter, files.adapter)):
        problems += _finite_problems(folder, infos or {})
    if pins is not None:
        problems += _meaning_problems(files, pins)
    return problems


def inventory(files: CheckpointFiles) -> dict[str, Any]:
    """Digest, file hashes and tensors as JSON data. Raises CheckpointError where files cannot be read."""
    hashes = checkpoint_hashes(files)
    try:
        groups = {"base": _base_tensors(files.base), "adapter": shards.read_header(files.adapter / ADAPTER)}
    except (OSError, ShardError) as error:
        raise CheckpointError(str(error)) from error
    return {
        "digest": digest_of(hashes),
        "source": files.source,
        "files": hashes,
        "parameters": {
            part: sum(math.prod(t.shape) for t in infos.values()) for part, infos in groups.items()
        },
        "tensors": {
            part: {name: [t.dtype, list(t.shape), t.file] for name, t in sorted(infos.items())}
            for part, infos in groups.items()
        },
    }


def checkpoint_hashes(files: CheckpointFiles) -> dict[str, str]:
    """`base/NAME` and `adapter/NAME` -> SHA-256, of every file there is."""
    folders = {"base": files.base, "adapter": files.adapter}
    found: dict[str, str] = {}
    for part, folder in folders.items():
        found |= {f"{part}/{name}": sha for name, sha in hash_files(folder, blob_folders(folder)).items()}
    return found


def _hash_problems(files: CheckpointFiles, pins: Pins | None) -> Iterator[str]:
    try:
        found = checkpoint_hashes(files)
    except (OSError, CheckpointError) as error:
        yield str(error)
        return
    if pins is None:
        if digest_of(found) != files.digest:
            yield f"the files give digest {digest_of(found)}, expected {files.digest}"
        return
    expected = pins.hashes()
    for name, sha in sorted(expected.items()):
        if name not in found:
            yield f"{name}: missing"
        elif found[name] != sha:
            yield f"{name}: SHA-256 is {found[name]}, pinned {sha}"
    for name in sorted(found.keys() - expected.keys()):
        if name.endswith(LOADABLE):
            yield f"{name}: not pinned, and a loader might read it: remove it"


def _base_tensors(base: Path) -> dict[str, TensorInfo]:
    """Every tensor of the shards the index names, checked against the index."""
    weight_map = shards.read_index(base / INDEX)
    infos: dict[str, TensorInfo] = {}
    for shard in sorted(set(weight_map.values())):
        infos |= shards.read_header(base / shard)
    wrong = {name for name, info in infos.items() if weight_map.get(name) != info.file}
    wrong |= weight_map.keys() - infos.keys()
    if wrong:
        raise ShardError(f"{INDEX}: disagrees with the shards about {_some(sorted(wrong))}")
    return infos


def _base_problems(config: Any, found: dict[str, TensorInfo], pins: Pins | None) -> Iterator[str]:
    ignored = pins.ignored if pins else ("mtp.",)
    found = {name: info for name, info in found.items() if not name.startswith(ignored)}
    try:
        expected = base_shapes(config)
        tied = config.get("tie_word_embeddings") or config["text_config"].get("tie_word_embeddings")
    except (KeyError, TypeError, AttributeError) as error:
        yield f"base/config.json: not a Qwen3.5 vision-language config: {error!r}"
        return
    if tied:
        yield "base/config.json: tie_word_embeddings is on; expected an untied head"
    yield from _compare("base", found, expected, "BF16")
    for name, shape in (pins.shapes if pins else {}).items():
        if name in found and found[name].shape != shape:
            yield f"base: {name} has shape {found[name].shape}, pinned {shape}"


def adapter_option_problems(options: Mapping[str, Any]) -> Iterator[str]:
    """Options of adapter_config.json that would make the adapter more than scaled low-rank pairs."""
    for key, allowed in PLAIN_LORA.items():
        if key in options and options[key] not in allowed:
            yield f"adapter/adapter_config.json: {key} is {options[key]!r}, which is not supported ({allowed[0]!r} is)"
    rank, alpha = options.get("r"), options.get("lora_alpha")
    if not isinstance(rank, int) or isinstance(rank, bool) or rank < 1:
        yield f"adapter/adapter_config.json: r is {rank!r}, expected a positive integer"
    if not isinstance(alpha, int | float) or isinstance(alpha, bool) or not 0 < alpha < math.inf:
        yield f"adapter/adapter_config.json: lora_alpha is {alpha!r}, expected a positive number"


def _adapter_problems(
    config: Any, options: Mapping[str, Any], found: dict[str, TensorInfo], pins: Pins | None
) -> Iterator[str]:
    rank = options.get("r")
    if not isinstance(rank, int):
        return  # reported by adapter_option_problems
    try:
        expected = adapter_shapes(config, rank)
    except (KeyError, TypeError, AttributeError):
        return  # reported by _base_problems
    yield from _compare("adapter", found, expected, "F32")
    if pins is None:
        return
    if len(found) != pins.lora_tensors:
        yield f"adapter: {len(found)} tensors, pinned {pins.lora_tensors}"
    for key, value, pinned in (("r", rank, pins.rank), ("lora_alpha", options.get("lora_alpha"), pins.alpha)):
        if value != pinned:
            yield f"adapter/adapter_config.json: {key} is {value!r}, pinned {pinned}"


def _compare(
    part: str, found: dict[str, TensorInfo], expected: Mapping[str, tuple[int, ...]], dtype: str
) -> Iterator[str]:
    if missing := sorted(expected.keys() - found.keys()):
        yield f"{part}: {len(missing)} tensors missing: {_some(missing)}"
    if extra := sorted(found.keys() - expected.keys()):
        yield f"{part}: {len(extra)} tensors nothing would load: {_some(extra)}"
    shared = sorted(expected.keys() & found.keys())
    if shape := [f"{n} {list(found[n].shape)} for {list(expected[n])}" for n in shared if found[n].shape != expected[n]]:
        yield f"{part}: {len(shape)} tensors of another shape than config.json implies: {_some(shape)}"
    if other := [f"{name} {found[name].dtype}" for name in shared if found[name].dtype != dtype]:
        yield f"{part}: {len(other)} tensors are not {dtype}: {_some(other)}"


def _finite_problems(folder: Path, infos: dict[str, TensorInfo]) -> Iterator[str]:
    """NaN and infinities, tensor by tensor: one of them anywhere makes every answer meaningless."""
    for file in sorted({info.file for info in infos.values()}):
        with safe_open(folder / file, framework="pt") as opened:
            bad = [name for name in opened.keys() if not torch.isfinite(opened.get_tensor(name)).all()]  # noqa: SIM118
        if bad:
            yield f"{folder.name}/{file}: {len(bad)} tensors hold NaN or infinity: {_some(bad)}"


def _meaning_problems(files: CheckpointFiles, pins: Pins) -> Iterator[str]:
    """What hashes cannot say in words: temperatures and label tokens."""
    from kit.checkpoint.tokens import load_tokenizer

    for key, pinned in pins.calibration.items():
        value = getattr(files.calibration, key, None)
        if value != pinned:
            yield f"adapter/decision_config.json: {key} is {value}, pinned {pinned}"
    try:
        labels = load_tokenizer(files.base).label_ids
    except CheckpointError as error:
        yield str(error)
        return
    if labels != pins.label_token_ids:
        yield f"base/tokenizer.json: labels have ids {labels}, pinned {pins.label_token_ids}"


def _read(problems: list[str], reader: Any, folder: Path) -> Any:
    """What `reader(folder)` gives, or None with the reason among the problems."""
    try:
        list_files(folder, blob_folders(folder))  # no byte is parsed that lies outside the folder
        return reader(folder)
    except (OSError, ValueError, CheckpointError) as error:
        if str(error) not in problems:
            problems.append(str(error))
        return None


def _json(path: Path) -> Any:
    data = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(data, dict):
        raise ShardError(f"{path.name}: not a JSON object")
    return data


def _some(names: Iterable[str]) -> str:
    listed = list(names)
    more = f" and {len(listed) - SHOWN} more" if len(listed) > SHOWN else ""
    return ", ".join(listed[:SHOWN]) + more
