"""The native engine: the kit's own forward, vision once a request, one prefill a question.

Covers: loading (no Transformers model class, tensors mapped from files or generated on the device), the way of one request, and the
seam a graph engine overrides: `run_language` and `run_vision`, one forward each of tensors whose shapes are
the cache key. Does not cover: capture and replay (`kit.engine.graph`).
"""

from __future__ import annotations

import time
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from kit import checkpoint
from kit.checkpoint.tokens import load_tokenizer
from kit.contract.answer import answer
from kit.engine import autotune
from kit.engine.base import Counters, Decision, Event, Grid, Prepared, PreparedQuestion, QuestionResult
from kit.engine.prepare import Preparer
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
            else weights.take("lm_head.weight", text.vocab_size, text.hidden_size)
        )
        weights.finish()
        adapter.finish()
        self.head = LabelHead(head, self.preparer.tokenizer.label_ids)
        self.rotary = TextRotary(text, self.dtype, self.device)
        self.vision_tables = lru_cache(maxsize=GRID_LISTS)(self.vision.tables)
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
        return self.preparer.prepare(body)

    # The seam: a graph engine overrides these two and nothing else of the forward.

    def run_language(self, mode: Mode, embeddings: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Event]:
        """embeddings [T, H], cos and sin [T, R] -> (last row after the final norm [1, H], what the cache did)."""
        return self.language.forward(embeddings, cos, sin), Event()

    def run_vision(
        self, grids: tuple[Grid, ...], pixels: Tensor, tables: VisionTables
    ) -> tuple[Tensor, Event]:
        """pixels [N, 1536] in the model's dtype, tables of `grids` -> (features [N / 4, H], what the cache did)."""
        return self.vision.forward(pixels, tables), Event()

    def decide(self, prepared: Prepared) -> Decision:
        """Run the request. Raises AnswerError for logits that are not finite."""
        started = time.perf_counter()
        with torch.inference_mode():
            features, vision = self._features(prepared)
            self._synchronise()
            seen = time.perf_counter()
            results = tuple(self._question(question, features) for question in prepared.questions)
        temperature = self.calibration.for_images(bool(prepared.grids))
        answers = {
            item.question.id: answer(item.question, result.logits, temperature)
            for item, result in zip(prepared.questions, results, strict=True)
        }
        ended = time.perf_counter()
        timings = {"language": 1e3 * (ended - seen), "total": 1e3 * (ended - started)}
        if vision is not None:
            timings["vision"] = 1e3 * (seen - started)
        return Decision(answers, prepared.input_tokens, results, vision, timings)

    def _features(self, prepared: Prepared) -> tuple[Tensor | None, Event | None]:
        if prepared.pixels is None:
            return None, None
        pixels = prepared.pixels.to(self.device, self.dtype)
        return self.run_vision(prepared.grids, pixels, self.vision_tables(prepared.grids))

    def _question(self, item: PreparedQuestion, features: Tensor | None) -> QuestionResult:
        embeddings = self.embed(item.input_ids, features)
        cos, sin = self.rotary.tables(torch.tensor(item.positions, device=self.device))
        hidden, event = self.run_language("text" if features is None else "multimodal", embeddings, cos, sin)
        logits = self.head.logits(hidden)[: len(item.label_ids)].float().tolist()
        row = hidden.contiguous().view(torch.uint8).cpu().numpy().tobytes()
        return QuestionResult(item.question.id, tuple(logits), row, len(item.input_ids), event)

    def embed(self, input_ids: tuple[int, ...], features: Tensor | None) -> Tensor:
        """Token embeddings [T, H]; image rows are overwritten by the features, in order, where there are any."""
        embeddings = F.embedding(torch.tensor(input_ids, device=self.device), self.language.embedding)
        if features is not None:
            pad = self.config.image_token_id
            places = [index for index, token in enumerate(input_ids) if token == pad]
            embeddings.index_copy_(0, torch.tensor(places, device=self.device), features)
        return embeddings

    def _synchronise(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

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
        for name in ("language", "vision", "head"):
            if hasattr(self, name):
                delattr(self, name)
        if self.device.type == "cuda":
            torch.cuda.empty_cache()


def load(profile: Profile) -> NativeEngine:
    """Load the profile's checkpoint. Raises CheckpointError, ConfigError, WeightError or AdapterError."""
    return NativeEngine(profile)
