"""The native engine: the kit's own forward, vision once a request, one prefill a question.

Covers: loading (no Transformers model class, tensors mapped from files or generated on the device), the way
of one request, and the seam a graph engine overrides: `run_language` and `run_vision`, one forward each of
tensors whose shapes are the cache key, and `new_embeddings`, where the first reads them. Does not cover: capture
and replay (`kit.engine.graph`).
"""

from __future__ import annotations

import dataclasses
import logging
import time
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor

from kit import checkpoint
from kit.checkpoint.tokens import load_tokenizer
from kit.contract.answer import answer
from kit.engine import autotune
from kit.engine.base import Counters, Decision, Event, Grid, Prepared, PreparedQuestion, QuestionResult
from kit.engine.cuda_device import give_back
from kit.engine.prepare import Preparer
from kit.engine.transfer import Prompt, Stopwatch, host_rows, upload
from kit.kernels import Ops, select
from kit.model.config import ConfigError, load_config
from kit.model.content_sums import digest_of_sums
from kit.model.head import LabelHead
from kit.model.language import Language
from kit.model.lora import load_adapter
from kit.model.rope import TextRotary
from kit.model.vision import Vision, VisionTables
from kit.model.weights import Weights, adapter_store, base_store

if TYPE_CHECKING:
    from kit.engine.shared_weights import SharedStores
    from kit.profile import Profile

Mode = Literal["text", "multimodal"]
HEAD_CHECK_ROWS = 64  # random hidden rows the label head's ladder is proved on
GRID_LISTS = 32  # grid lists whose vision tables are kept
LENGTHS = 64  # prompt lengths whose rotary tables are kept (256 bytes a token at 27B)

log = logging.getLogger(__name__)


class NativeEngine:
    """One model on one device.

    ops replaces the profile's op table (a capture may want other callables); shared replaces the checkpoint's
    tensors by those of a reference in the same process.
    """

    name = "native"
    backend = "eager"

    def __init__(self, profile: Profile, ops: Ops | None = None, shared: SharedStores | None = None) -> None:
        self.profile = profile
        self.device = torch.device(profile.runtime.device)
        self.dtype: torch.dtype = getattr(torch, profile.runtime.dtype)
        files = checkpoint.locate(profile)
        self.calibration, self.digest = files.calibration, files.digest
        self.preparer = Preparer(load_tokenizer(files.base), profile)
        self.config = load_config(files.base)
        if self.config.image_token_id != self.preparer.tokenizer.image_token_id:
            raise ConfigError(
                f"{files.base}: config.json says image_token_id {self.config.image_token_id}, "
                f"tokenizer.json gives <|image_pad|> the id {self.preparer.tokenizer.image_token_id}"
            )
        self.ops = ops or select(profile.runtime.numerics, self.device)
        weights = Weights(shared.base if shared else base_store(files, self.device), self.dtype, self.device)
        wide = torch.promote_types(self.dtype, torch.float32)
        adapter = (
            shared.adapter(self.device, wide)
            if shared
            else load_adapter(files.adapter, self.device, wide, adapter_store(files, self.device))
        )
        self.language = Language(self.config.text, weights, adapter, self.ops)
        self.vision = Vision(self.config.vision, weights, self.ops)
        text, embedding = self.config.text, self.language.embedding
        head = (
            embedding
            if self.config.tied_head
            else weights.take("lm_head.weight", files.head_rows or text.vocab_size, text.hidden_size)
        )
        weights.finish()
        adapter.finish()
        self.head = LabelHead(head, self.preparer.tokenizer.label_ids)
        self.rotary = TextRotary(text, self.dtype, self.device)
        self.vision_tables = lru_cache(maxsize=GRID_LISTS)(self.vision.tables)
        self._text_tables = lru_cache(maxsize=LENGTHS)(partial(_text_tables, self.rotary, self.device))
        self._converted = weights.converted
        self._weights_sum = digest_of_sums(weights.sums.values() | adapter.sums.values())
        self._adapter = {
            "merged": False,
            "dtype": str(wide).removeprefix("torch."),
            "tensors": adapter.tensors,
            "rank": adapter.rank,
            "scale": adapter.scale,
        }
        self._choose_head_rows()

    def _choose_head_rows(self) -> None:
        """Prove the label head on random rows that went through the final norm, so of the right size."""
        generator = torch.Generator().manual_seed(20260722)
        noise = torch.randn(HEAD_CHECK_ROWS, self.config.text.hidden_size, generator=generator)
        with torch.inference_mode():
            rows = noise.to(self.device, self.dtype)
            self.head.choose(self.ops.rms_norm(rows, self.language.norm, self.config.text.rms_norm_eps))

    def prepare(self, body: bytes) -> Prepared:
        """See `kit.engine.base.Engine.prepare`."""
        prepared = self.preparer.prepare(body)
        if prepared.pixels is None or self.device.type != "cuda":
            return prepared
        return dataclasses.replace(prepared, pixels=prepared.pixels.pin_memory())

    # The seam: a graph engine overrides the next three and nothing else of the forward.

    def new_embeddings(self, tokens: int) -> Tensor:
        """Where the embeddings of a prompt of T tokens are put before `run_language` reads them, [T, H]."""
        return torch.empty(tokens, self.config.text.hidden_size, dtype=self.dtype, device=self.device)

    def run_language(self, mode: Mode, embeddings: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Event]:
        """embeddings [T, H], cos and sin [T, R] -> (row of `prefill`, what the cache did)."""
        return self.prefill(embeddings, cos, sin), Event()

    def run_vision(
        self, grids: tuple[Grid, ...], pixels: Tensor, tables: VisionTables
    ) -> tuple[Tensor, Event]:
        """pixels [N, 1536] in the model's dtype, tables of `grids` -> (features [N / 4, H], what the cache did)."""
        return self.vision.forward(pixels, tables), Event()

    def prefill(self, embeddings: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """What is captured of a question: the last hidden row and the label logits behind it, [H + labels]."""
        hidden = self.language.forward(embeddings, cos, sin)
        return torch.cat((hidden[0], self.head.logits(hidden)))

    def decide(self, prepared: Prepared) -> Decision:
        """Run the request. Raises AnswerError for logits that are not finite.

        Work is queued for all questions before the host waits, once, for all rows.
        """
        started = time.perf_counter()
        try:
            with torch.inference_mode():
                watch = Stopwatch(self.device)
                features, vision = self._features(prepared)
                watch.mark()
                rows, events = self._prefills(prepared.questions, features, watch)
                self._synchronise()
        except BaseException:
            self._drain()
            raise
        seen, *prefills = watch.milliseconds()
        results = self._results(prepared.questions, rows, events, prefills)
        temperature = self.calibration.for_images(bool(prepared.grids))
        answers = {
            item.question.id: answer(item.question, result.logits, temperature)
            for item, result in zip(prepared.questions, results, strict=True)
        }
        timings = {"language": sum(prefills), "total": 1e3 * (time.perf_counter() - started)}
        if vision is not None:
            timings["vision"] = seen
        return Decision(answers, prepared.input_tokens, results, vision, timings)

    def _features(self, prepared: Prepared) -> tuple[Tensor | None, Event | None]:
        if prepared.pixels is None:
            return None, None
        pixels = prepared.pixels.to(self.device, non_blocking=True).to(self.dtype)
        return self.run_vision(prepared.grids, pixels, self.vision_tables(prepared.grids))

    def _prefills(
        self, questions: tuple[PreparedQuestion, ...], features: Tensor | None, watch: Stopwatch
    ) -> tuple[Tensor, list[Event]]:
        """(row of each question on its way to the host, [Q, H + labels], event of each)."""
        prompts = self._upload(questions, features is not None)
        width = self.config.text.hidden_size + len(self.preparer.tokenizer.label_ids)
        rows = host_rows(len(questions), width, self.dtype, self.device)
        mode: Mode = "text" if features is None else "multimodal"
        events = []
        for prompt, arrived in zip(prompts, rows, strict=True):
            cos, sin = self._text_tables(len(prompt.ids)) if prompt.positions is None else self.rotary.tables(prompt.positions)
            row, event = self.run_language(mode, self.embed(prompt, features), cos, sin)
            arrived.copy_(row, non_blocking=True)
            watch.mark()
            events.append(event)
        return rows, events

    def _upload(self, questions: tuple[PreparedQuestion, ...], images: bool) -> list[Prompt]:
        """The integers of all questions, on the device; positions of a text prompt are those of its tables."""
        if not images:
            return [Prompt(ids) for ids in upload([item.input_ids for item in questions], self.device)]
        pad = self.config.image_token_id
        lists: list[Sequence[int]] = []
        for item in questions:
            places = [index for index, token in enumerate(item.input_ids) if token == pad]
            lists += [item.input_ids, places, sum(item.positions, start=())]
        found = iter(upload(lists, self.device))
        return [Prompt(ids, places, positions.view(3, -1)) for ids, places, positions in zip(found, found, found, strict=True)]

    def embed(self, prompt: Prompt, features: Tensor | None) -> Tensor:
        """Token embeddings [T, H]; image rows are overwritten by the features, in order, where there are any."""
        embeddings = self.new_embeddings(len(prompt.ids))
        torch.index_select(self.language.embedding, 0, prompt.ids, out=embeddings)
        if features is not None and prompt.places is not None:
            embeddings.index_copy_(0, prompt.places, features)
        return embeddings

    def _results(
        self, questions: tuple[PreparedQuestion, ...], rows: Tensor, events: list[Event], prefills: list[float]
    ) -> tuple[QuestionResult, ...]:
        width = self.config.text.hidden_size
        logits = rows[:, width:].float().tolist()
        hidden = rows[:, :width].contiguous().view(torch.uint8).numpy()
        return tuple(
            QuestionResult(
                item.question.id,
                tuple(logits[index][: len(item.label_ids)]),
                hidden[index].tobytes(),
                len(item.input_ids),
                events[index],
                prefills[index],
            )
            for index, item in enumerate(questions)
        )

    def _synchronise(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def _drain(self) -> None:
        """Let queued copies end before an error leaves and their memory with it."""
        try:
            self._synchronise()
        except Exception:
            log.exception("the device did not finish what was queued before an error")

    def counters(self) -> Counters:
        """No caches, no counters."""
        return {}

    def describe(self) -> dict[str, Any]:
        """Functions that run, dtypes, head rows, adapter: facts for the evidence."""
        return {
            "backend": self.backend,
            "checkpoint_digest": self.digest,
            "weights_sum": self._weights_sum,
            "numerics": self.profile.runtime.numerics,
            "dtype": self.profile.runtime.dtype,
            "device": self.profile.runtime.device,
            "ops": self.ops.describe(),
            "label_head": self.head.describe(),
            "adapter": self._adapter,
            "converted_tensors": self._converted,
            "autotune": autotune.report(),
            "versions": {"torch": torch.__version__},
        }

    def close(self) -> None:
        """Drop the weights; the engine cannot be used afterwards."""
        self.vision_tables.cache_clear()
        self._text_tables.cache_clear()
        for name in ("language", "vision", "head"):
            if hasattr(self, name):
                delattr(self, name)
        give_back(self.device)


def _text_tables(rotary: TextRotary, device: torch.device, tokens: int) -> tuple[Tensor, Tensor]:
    """cos and sin of a prompt without images, whose three axes are 0 to T - 1."""
    return rotary.tables(torch.arange(tokens, device=device).repeat(3, 1))


def load(profile: Profile) -> NativeEngine:
    """Load the profile's checkpoint. Raises CheckpointError, ConfigError, WeightError or AdapterError."""
    return NativeEngine(profile)
