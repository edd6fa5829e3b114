"""One process in which every form of the model is measured against the others.

Covers: the order of the work and what each phase needs: the reference is loaded, the native engines are built
over its tensors, and rounds of interleaved samples follow, the most important first, until the budget is spent.
Merging spoils the weights, so it comes last. A phase that fails or is left out is listed with its reason.
Does not cover: how a phase does what it does (the other modules), or what is written (`document`).
"""

from __future__ import annotations

import gc
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from kit.campaign import device
from kit.campaign.performance import adapter_swap, breakdown, workloads
from kit.campaign.performance.budget import Budget
from kit.campaign.performance.cublaslt_search import Search
from kit.campaign.performance.floors import Floors, copy_bandwidth
from kit.campaign.performance.local_http import ServedForm, serving
from kit.campaign.performance.plan import Measured, Settings, phases
from kit.campaign.performance.rounds import FLOOR, Rounds, Run
from kit.campaign.performance.timing import WallWatch
from kit.campaign.statistics import median
from kit.engine.baseline import (
    CapturedReference,
    ModelForm,
    NativeForm,
    ReferenceCalls,
    compiled_layers,
    merge,
)
from kit.engine.capture import choose
from kit.engine.graph import GraphEngine
from kit.engine.native import NativeEngine
from kit.engine.reference import ReferenceEngine
from kit.engine.shared_weights import shared_stores

if TYPE_CHECKING:
    from kit.engine.base import Engine, Prepared
    from kit.engine.capture import Recording
    from kit.profile import Profile

FLOOR_TRIALS = 5
SEARCH_SECONDS = 40.0  # it takes about five

log = logging.getLogger(__name__)


def run(profile: Profile, settings: Settings | None = None, started: float | None = None) -> Measured:
    """Load, measure, free. started: `time.perf_counter()` when the budget began (default: now).

    The process settings of the profile must be in force (`kit.runtime.configure`). Raises what loading raises;
    what fails later is in `Measured.not_measured`.
    """
    settings = settings or Settings()
    began = time.perf_counter() if started is None else started
    search = Search() if profile.runtime.device == "cuda" else None
    try:
        session = _Session(profile, settings, Budget(settings.budget_s, phases(settings), started=began), search)
        try:
            session.work()
        finally:
            session.close()
        return session.found
    finally:
        if search is not None:
            search.close()


class _Session:
    def __init__(self, profile: Profile, settings: Settings, budget: Budget, search: Search | None) -> None:
        self.profile, self.settings, self.budget, self.search = profile, settings, budget, search
        self.found = Measured()
        self.lost = ""  # the phase after which the device did not work any more
        self.cuda = profile.runtime.device == "cuda"
        self.rounds = Rounds(cuda=self.cuda, blocks=settings.blocks, block_ms=settings.block_ms)
        self.found.entries = self.rounds.entries
        with self._timed("load reference"):
            self.official = ReferenceEngine(profile)
        with self._timed("build native engines"):
            shared = shared_stores(self.official.model)
            self.eager, self.graph = NativeEngine(profile, shared=shared), GraphEngine(profile, shared=shared)
        self.weight_bytes = _bytes_of(self.official.model)
        self.forms: dict[str, ModelForm] = {
            "reference": ReferenceCalls(self.official),
            "reference-graph": CapturedReference(self.official),
            "eager": NativeForm(self.eager),
            "graph": NativeForm(self.graph),
        }
        self.floor_backend = choose(self.official.device)
        self.count = workloads.token_counter(self.eager.preparer.tokenizer, profile)
        self.found.facts = {"weight_bytes": self.weight_bytes, "floors": [], "device": [_device(self.cuda)]}
        with self._timed("build floors"):
            self.floors = Floors(self.eager.language, self.floor_backend, search)
        if search is not None:
            with self._timed("search cuBLASLt"):
                search.ask(str(self.official.device), settings.lengths, self.floors.shapes, SEARCH_SECONDS)
            self.found.facts["copy_bytes_per_s"] = copy_bandwidth(self.official.device)

    # ------------------------------------------------------------ the order of it all

    def work(self) -> None:
        settings, phase = self.settings, self._phase
        for tokens in settings.lengths:
            phase(f"text {tokens}", partial(self._text, tokens))
        requests = {workload.name: workload.body for workload in workloads.request_workloads()}
        phase("vision-768x512", partial(self._vision, "vision-768x512", requests["image-768x512"]))
        for name in ("image-768x512", "image-256x256", "images-4"):
            phase(name, partial(self._request, name, requests))
        phase("http", partial(self._http, requests))
        phase("questions-4", partial(self._request, "questions-4", requests))
        phase("adapter swap", self._swap)
        phase("profile", self._profile)
        phase("compiled", partial(self._compiled, "compiled-graph", settings.compiled))
        phase("stream", self._stream)
        phase(f"text {settings.long}", self._long_text)
        phase("merged", self._merged)
        phase("merged compiled", partial(self._compiled, "merged-compiled-graph", settings.compiled[:1]))
        if not self.lost:
            self.found.facts["device"].append(_device(self.cuda))

    def _phase(self, name: str, work: Callable[[], None]) -> None:
        """The others stand on their own, unless the device was lost: a fault there breaks every later call."""
        reason = self.budget.refusal(name)
        if self.lost:
            reason = f"the device was lost in phase {self.lost}"
        elif not reason:
            with self._timed(name):
                try:
                    work()
                    self._synchronise()
                except Exception as error:
                    log.warning("phase %s failed", name, exc_info=error)
                    reason = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:300]}"
                    self.lost = "" if self._device_works() else name
        if reason:
            self.found.not_measured.append({"phase": name, "reason": reason})

    def _device_works(self) -> bool:
        try:
            self._synchronise()
        except RuntimeError:
            log.exception("the device does not work any more")
            return False
        return True

    @contextmanager
    def _timed(self, name: str) -> Iterator[None]:
        began = time.perf_counter()
        try:
            yield
        finally:
            self.found.seconds[name] = round(time.perf_counter() - began, 3)

    # ------------------------------------------------------------ phases

    def _text(self, tokens: int) -> None:
        with self._floor(tokens) as floor:
            self.rounds.forms("text", self._prepared_text(tokens), self.forms, {FLOOR: floor})

    def _long_text(self) -> None:
        """Without the captured reference: as slow as the called one at this length, and gigabytes to record."""
        forms = {name: form for name, form in self.forms.items() if name != "reference-graph"}
        self.rounds.forms("text", self._prepared_text(self.settings.long), forms)

    @contextmanager
    def _floor(self, tokens: int) -> Iterator[Run]:
        """The fastest way to do the products; every way's median goes to the facts."""
        recordings: dict[str, Recording] = {}
        ways: list[dict[str, Any]] = []
        medians: dict[str, float] = {}
        try:
            for name, made in self.floors.ways(tokens):
                if isinstance(made, str):
                    ways.append({"way": name, "median_ms": None, "reason": made})
                    continue
                recordings[name], replay = made, partial(_replay, made)
                replay()
                medians[name] = round(median(self.rounds.watch.time(replay)[0] for _ in range(FLOOR_TRIALS)), 4)
                ways.append({"way": name, "median_ms": medians[name], "reason": ""})
            if not medians:
                raise RuntimeError(f"no way to multiply at {tokens} tokens: {ways[0]['reason']}")
            fastest = min(medians, key=lambda name: medians[name])
            bandwidth = self.found.facts.get("copy_bytes_per_s")
            self.found.facts["floors"].append({
                "tokens": tokens, "fastest": fastest, "ways": ways, "weight_bytes": self.floors.weight_bytes,
                "bandwidth_ms": round(self.floors.weight_bytes / bandwidth * 1e3, 4) if bandwidth else None,
            })  # fmt: skip
            yield partial(_replay, recordings[fastest])
        finally:
            for recording in recordings.values():
                recording.close()

    def _vision(self, name: str, body: bytes) -> None:
        """The tower alone, pixels on the device before, features on the device after."""
        prepared = self._prepared(body)
        assert prepared.pixels is not None
        pixels = prepared.pixels.to(self.official.device, self.eager.dtype)
        runs = {engine: partial(form.features, pixels, prepared.grids) for engine, form in self.forms.items()}
        self.rounds.measure(name, "call", prepared, runs, pixels.shape[0] // 4)

    def _request(self, name: str, requests: Mapping[str, bytes]) -> None:
        self.rounds.forms(name, self._prepared(requests[name]), self.forms)

    def _profile(self) -> None:
        if not self.cuda:
            raise RuntimeError("kernels are profiled on a GPU only")
        found = []
        for tokens in self.settings.profiled:
            prepared = self._prepared_text(tokens)
            for name in ("reference-graph", "graph"):
                run = partial(self.forms[name].run, prepared)
                run()
                found.append({"engine": name, "tokens": tokens} | breakdown.profile(run))
        self.found.facts["profile"] = found

    def _http(self, requests: Mapping[str, bytes]) -> None:
        """The same, with what a client waits for besides; timed by the client, as the work is on other threads."""
        from kit.campaign.runner import ROUTE, open_client

        bodies = [("text-http", workloads.text_body(tokens, self.count)) for tokens in self.settings.served]
        bodies += [(f"{name}-http", requests[name]) for name in ("image-768x512", "questions-4")]
        with self._served() as urls, open_client() as client:
            for name, body in bodies:
                prepared = self._prepared(body)
                runs = {engine: partial(_post, client, url + ROUTE, body) for engine, url in urls.items()}
                self.rounds.measure(name, "http", prepared, runs, prepared.input_tokens, watch=WallWatch())

    @contextmanager
    def _served(self) -> Iterator[dict[str, str]]:
        """URL of a worker around each form, all at once."""
        calibration = self.official.calibration
        engines: dict[str, Engine] = {
            name: ServedForm(name, self.forms[name], self.official.prepare, calibration)
            for name in ("reference", "reference-graph")
        } | {"eager": self.eager, "graph": self.graph}
        with ExitStack() as stack:
            yield {name: stack.enter_context(serving(engine, self.profile)) for name, engine in engines.items()}

    def _swap(self) -> None:
        prepared = self._prepared_text(self.settings.lengths[0])
        order = ("graph", "eager", "reference-graph", "reference")
        answers = [partial(self.forms[name].run, prepared) for name in order]
        captures = self._captures()
        swap = adapter_swap.measure(self.eager.language, answers, self._synchronise)
        self.found.facts["adapter_swap"] = adapter_swap.facts(swap) | {"captures_made": self._captures() - captures}

    def _captures(self) -> int:
        return sum(cache["captures"] for cache in self.graph.counters().values())

    def _stream(self) -> None:
        """Different lengths, one request each, with a cold cache; then the same again."""
        stream = [self._prepared_text(tokens) for tokens in self.settings.stream]
        for prepared in stream:
            for engine in (self.eager, self.graph):
                engine.decide(prepared)  # proofs and libraries see every shape before it is timed
        eager = self._once_each(self.eager, stream)
        self.graph.clear_graphs()
        cold = self._once_each(self.graph, stream)
        replayed = self._once_each(self.graph, stream)
        self.graph.clear_graphs()  # what 57 graphs hold of the device is no part of what follows
        saved = sum(eager) - sum(replayed)
        self.found.facts["stream"] = {
            "lengths": list(self.settings.stream), "eager_ms": eager, "cold_ms": cold, "replay_ms": replayed,
            "capture_ms": round((sum(cold) - sum(eager)) / len(stream), 4),
            "break_even_requests": round((sum(cold) - sum(eager)) / saved, 2) if saved > 0 else None,
        }  # fmt: skip

    def _once_each(self, engine: NativeEngine, stream: Sequence[Prepared]) -> list[float]:
        return [round(self.rounds.watch.time(partial(engine.decide, prepared))[0], 4) for prepared in stream]

    def _compiled(self, name: str, lengths: Sequence[int]) -> None:
        """Captured while compiled; compiled layers cannot be told from others afterwards, so the rest is undone."""
        with compiled_layers(self.official, self.settings.compile_seconds):
            self._changed_forms({name: CapturedReference(self.official)}, lengths)

    def _merged(self) -> None:
        merge(self.official)
        forms: dict[str, ModelForm] = {
            "merged": ReferenceCalls(self.official),
            "merged-graph": CapturedReference(self.official),
        }
        self._changed_forms(forms, self.settings.merged)

    def _changed_forms(self, forms: dict[str, ModelForm], lengths: Sequence[int]) -> None:
        """Forms whose bits are not the reference's, in rounds with its captured form.

        That one was recorded before, and replays the same kernels whatever became of the weights.
        """
        anchor = self.forms["reference-graph"]
        compared = {e.tokens for e in self.found.entries if (e.engine, e.workload) == ("reference", "text")}
        try:
            for tokens in lengths:
                if tokens not in compared:
                    reason = "speed needs drift beside it, and the reference was not measured at this length"
                    self.found.not_measured.append({"phase": f"{'/'.join(forms)} {tokens}", "reason": reason})
                    continue
                prepared = self._prepared_text(tokens)
                self.rounds.forms("text", prepared, forms, {"reference-graph": partial(anchor.run, prepared)})
        finally:
            for form in forms.values():
                form.close()

    def _prepared(self, body: bytes) -> Prepared:
        return self.eager.prepare(body)

    def _prepared_text(self, tokens: int) -> Prepared:
        return self._prepared(workloads.text_body(tokens, self.count))

    def _synchronise(self) -> None:
        if self.cuda:
            torch.cuda.synchronize()

    def close(self) -> None:
        """Engines in the order that frees recordings before what they read; nothing of a device that was lost."""
        if self.lost or not self._device_works():
            return
        for form in self.forms.values():
            form.close()
        self.floors.close()
        self.floor_backend.close()
        self.graph.close()
        self.eager.close()
        self.official.close()
        del self.forms, self.floors
        gc.collect()
        if self.cuda:
            torch.cuda.empty_cache()


def _replay(recording: Recording) -> None:
    with torch.inference_mode():
        recording.replay()


def _device(cuda: bool) -> dict[str, Any]:
    """Clocks, temperature, power and memory now, as far as NVML shows them; nothing is ever set."""
    if not cuda:
        return {"visible": False, "reason": "no CUDA device is used"}
    seen = device.snapshot()
    kept = ("visible", "reason", "taken_utc", "name", "clocks_mhz", "slowdowns", "temperature_c", "power_w", "memory")
    return {key: seen[key] for key in kept if key in seen}


def _post(client: Any, url: str, body: bytes) -> None:
    response = client.post(url, content=body)
    if response.status_code != 200:
        raise RuntimeError(f"expected status 200, got {response.status_code}: {response.text[:200]}")


def _bytes_of(model: Any) -> int:
    storages = {p.untyped_storage().data_ptr(): p.untyped_storage().nbytes() for p in model.parameters()}
    return sum(storages.values())
