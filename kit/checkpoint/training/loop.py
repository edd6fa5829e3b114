"""A whole training run: the base, its rounding, the adapter, calibration and the last judgement, in a given time.

Covers: `train`, what is saved and how a run is taken up again. Does not cover: a step (`steps`), a phase (`phase`), the
data (`mixture`, `batches`) or the files an engine loads (`export`).
"""

from __future__ import annotations

import json
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, cast

import torch
import torch._dynamo
from tokenizers import Tokenizer as Library
from torch import Tensor, nn

from kit.checkpoint.tokens import Tokenizer
from kit.checkpoint.training import state as files
from kit.checkpoint.training.adapter import adapter_state, attach, put_adapter, put_base, round_base
from kit.checkpoint.training.batches import Feed, Source
from kit.checkpoint.training.control import Control
from kit.checkpoint.training.curriculum import Curriculum, Table
from kit.checkpoint.training.curve import draw
from kit.checkpoint.training.evaluation import accuracy, logits_of, prepared
from kit.checkpoint.training.export import DECIDER, adapter_options
from kit.checkpoint.training.hints import marks
from kit.checkpoint.training.journal import (
    Clock,
    Journal,
    adapter_of,
    base_of,
    begun_from,
    known_of,
    write_recipe,
)
from kit.checkpoint.training.judged import Job, jobs, load, maker, quick
from kit.checkpoint.training.network import Decider
from kit.checkpoint.training.phase import PhaseLoop, Progress, StoppedError
from kit.checkpoint.training.results import Judge
from kit.checkpoint.training.settings import FORMS, PHASES, Phase, Settings
from kit.checkpoint.training.steps import State, Step
from kit.checkpoint.training.tasks import LEVELS, SCREENS
from kit.evidence.records import write_atomic, write_json
from kit.runtime import NoDeviceError, no_cuda

PROGRAMS = 64  # compiled from one function at most


@dataclass(frozen=True)
class Options:
    """out: the run's folder. config, tokenizer: of the checkpoint to train. levels: the families and how many levels each
    has. start: the folder of an earlier run, with whose base this one begins. keep_base: that base stays as it is, bit for
    bit, and the earlier run's adapter is what is trained. resume: go on from the state in `out`, where there is one, whatever
    the run began with. Raises ValueError for keep_base without start."""

    out: Path
    settings: Settings
    device: str = "cpu"
    config: Path = DECIDER / "base" / "config.json"
    tokenizer: Path = DECIDER / "base" / "tokenizer.json"
    levels: Mapping[str, int] = field(default_factory=lambda: dict(LEVELS))
    resume: bool = False
    start: Path | None = None
    keep_base: bool = False
    quiet: bool = False

    def __post_init__(self) -> None:
        if self.keep_base and self.start is None:
            raise ValueError("--keep-base keeps the base of an earlier run: give its folder with --from")


def train(options: Options) -> dict[str, Any]:
    """Train, calibrate and judge; the results. Raises StoppedError on SIGTERM or Ctrl-C, with the state saved.

    Raises NoDeviceError without the device, FileExistsError where `out` holds a run that is not to be resumed or cannot be,
    FileNotFoundError where `start` has no base, or no adapter to go on with, StateError for a damaged state, ValueError for
    another network, adapter or seed.
    """
    _require(options.device)
    held = files.load(options.out / "state") if options.resume else None
    if held is None and (options.out / "log.jsonl").exists():
        if options.resume:
            raise FileExistsError(f"{options.out} holds a run that saved no state to go on from: give another folder")
        raise FileExistsError(f"{options.out} already holds a run: give --resume or another folder")
    with tempfile.TemporaryDirectory(prefix="judged-") as folder:
        run = Run(options, held, Path(folder))
        source = Source(
            options.settings, options.tokenizer, dict(options.levels), run.resumed,
            before=maker(options.settings, options.tokenizer, options.levels, Path(folder)),
        )  # fmt: skip
        with Feed(source, run.table) as feed:  # forks: nothing has touched a device yet
            try:
                return run.go(feed)
            finally:
                run.close()


class Run:
    """The state of a run between its parts."""

    def __init__(self, options: Options, held: dict[str, Any] | None, folder: Path) -> None:
        self.options, self.settings, self.folder = options, options.settings, folder
        if held and held["seed"] != self.settings.seed:
            raise ValueError(
                f"{options.out} was begun with seed {held['seed']}, not {self.settings.seed}: go on with that one"
            )
        self.held = held
        self.begun_from = held.get("start") if held else begun_from(options.start, options.keep_base)
        self.resumed = held["resumed"] + 1 if held else 0
        self.keeps = options.start if options.keep_base and not held else None  # the run whose base and adapter to take
        self.phase: Phase = held["phase"] if held else "adapter" if self.keeps else "base"
        self.clock = Clock(held["seconds"] if held else 0.0)
        self.journal = Journal(options.out, self.clock, options.quiet)
        levels, screens = dict(options.levels), tuple(name for name in SCREENS if name in options.levels)
        self.curriculum = Curriculum.begin(
            levels, screens, self.settings.images, known=known_of(options.start) if self.begun_from else None,
            most_images=self.settings.most_images,
        )  # fmt: skip
        if self.keeps:  # an adapter has always been trained on a base that knows every family
            self.curriculum.tops = {name: count - 1 for name, count in levels.items()}
        self.table = Table(tuple(levels))
        self.control = Control(options.out / "control.json")
        self.jobs = jobs(levels, self.settings.amounts)
        library = Library.from_file(str(options.tokenizer))
        self.labels = Tokenizer(library, str(options.tokenizer)).label_ids
        self.marks = marks(library)
        self.progress = {phase: Progress() for phase in PHASES}
        self._stop = False
        self._writer, self._writing = ThreadPoolExecutor(1), cast("Future[None] | None", None)
        self._quick: tuple[list[Any], list[Any]] | None = None
        if held:
            self.curriculum.restore(json.loads(held["curriculum"]))
            self.progress = {phase: Progress(**held["progress"][phase]) for phase in PHASES}
        self.table.write(self.curriculum.weights(), self.curriculum.tops)
        self.table.set_phase(PHASES.index(self.phase))

    def go(self, feed: Feed) -> dict[str, Any]:
        """Every part that is not behind us."""
        self.feed = feed
        device = torch.device(self.options.device)
        with _on_signal(self._ask_to_stop):
            self._prepare(device)
            if self.phase == "base":
                self._train("base", self._step("base"))
                self._finish_base()
            wrapped = self._attach()
            step = self._step("adapter")
            self._train("adapter", step)
            files.write_tensors(adapter_of(self.options.out), adapter_state(wrapped))
            return self._results(wrapped)

    def close(self) -> None:
        """Wait for the last write."""
        self._written()
        self._writer.shutdown()

    def _prepare(self, device: torch.device) -> None:
        torch.set_float32_matmul_precision("high")
        torch.manual_seed(self.settings.seed)
        config = json.loads(self.options.config.read_text())
        self.network = Decider(config)
        if self.options.start and not self.held:
            self._take_base(self.options.start)
        self.network = self.network.to(device)
        self.flag = nn.Linear(self.network.lm_head.weight.shape[1], 1).to(device)
        if self.keeps:  # the earlier run's is not kept: a new one pulls at its adapter only as far as it has learned itself
            nn.init.zeros_(self.flag.weight)
        if device.type == "cuda":
            self._pin()
            # A layer's code serves every kind of layer, with and without an adapter.
            torch._dynamo.config.recompile_limit = PROGRAMS
            self.network.compile_layers()
        self.name = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
        self.journal.write(
            "start", device=self.name, parameters=sum(p.numel() for p in self.network.parameters()), resumed=self.resumed,
            phase=self.phase, levels=dict(self.options.levels),
        )  # fmt: skip
        self._recipe()

    def _pin(self) -> None:
        """Let the device read the workers' memory without a copy in between."""
        for slots in self.feed.slots:
            memory = slots.whole()
            failed = int(torch.cuda.cudart().cudaHostRegister(memory.ctypes.data, memory.nbytes, 0))  # type: ignore[no-untyped-call]
            if failed:  # copies then wait, which costs time and nothing else
                self.journal.write("not pinned", error=failed)
                with suppress(
                    RuntimeError
                ):  # the error stays behind and would be taken for the next kernel's
                    torch.zeros(1, device="cuda").item()
                return

    def _step(self, phase: Phase) -> Step:
        cells = self.curriculum.seen.size
        step = Step(
            self.network,
            self.flag,
            self.labels,
            self.marks,
            self.settings.rates(phase),
            cells,
            self.settings.clip,
        )
        if self.held and self.held["phase"] == phase:
            step.restore(self.held["step"])
        return step

    def _train(self, phase: Phase, step: Step) -> None:
        self.phase = phase
        self.control.end_phase = False
        shares = self.settings.base.share + (self.settings.adapter.share if phase == "adapter" else 0.0)
        self._quick = None
        PhaseLoop(
            phase, self.settings, step, self.feed, self.table, self.curriculum, self.control, self.clock, self.journal,
            self.progress[phase], until=self.settings.seconds * min(1.0, shares), judge=self._judge, save=self._save,
            stopping=lambda: self._stop,
        ).run()  # fmt: skip

    def _judge(self) -> dict[str, float]:
        """Accuracy by family on the regular held-out samples, kept on the device from the first time on."""
        if self._quick is None:
            items = [item for family in self.options.levels for item in self._quick_items(family)]
            device = self.network.lm_head.weight.device
            self._quick = (items, list(prepared(items, self.settings.buckets, device)))
        items, batches = self._quick
        return accuracy(logits_of(self.network, batches, self.labels), items)

    def _quick_items(self, family: str) -> list[Any]:
        form = FORMS[self.phase]
        chosen = [
            job for job in self.jobs
            if (job.split, job.form, job.family, job.kind) == ("held-out", form, family, "plain")
        ]  # fmt: skip
        return quick([self._load(job) for job in chosen], self.settings.amounts.quick)

    def _load(self, job: Job) -> list[Any]:
        return load(self.folder, job, self.feed.check)

    def _save(self, step: State) -> None:
        """Write the state while training goes on; the write before this one is over by then, or its error is raised."""
        document = {
            "seed": self.settings.seed, "phase": self.phase, "seconds": self.clock.now(), "resumed": self.resumed, "step": step,
            "curriculum": json.dumps(self.curriculum.state()), "start": self.begun_from,
            "progress": {phase: asdict(progress) for phase, progress in self.progress.items()},
        }  # fmt: skip
        self._written()
        self._writing = self._writer.submit(files.save, self.options.out / "state", document)
        self._recipe()

    def _written(self) -> None:
        if self._writing is not None:
            self._writing.result()
            self._writing = None

    def _finish_base(self) -> None:
        """Round the base for good. From here on its file is what the adapter stands on."""
        files.write_tensors(base_of(self.options.out), _rounded(self.network))
        self.journal.write("base done", step=self.progress["base"].steps)
        self.curriculum.seen *= 0  # the adapter reads another form: what the base can do says little
        self.curriculum.right *= 0

    def _take_base(self, earlier: Path) -> None:
        """Begin with the base of an earlier run. Where it is to stay as it is, its file is copied: the adapter stands on it."""
        base, own = base_of(earlier), base_of(self.options.out)
        put_base(self.network, base, self.options.config)
        if self.keeps:
            own.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(own, base.read_bytes())

    def _take_adapter(self, earlier: Path, wrapped: Any) -> None:
        """Begin with the adapter of an earlier run. Raises ValueError for one of another shape."""
        adapter = adapter_of(earlier)
        try:
            put_adapter(wrapped, torch.load(adapter, map_location="cpu", weights_only=True))
        except ValueError as error:
            raise ValueError(f"{adapter} holds another adapter: {error}") from error

    def _attach(self) -> Any:
        """The rounded base with an adapter on it, new or an earlier run's."""
        put_base(self.network, base_of(self.options.out), self.options.config)
        options = adapter_options()
        round_base(self.network, options["target_modules"])
        torch.manual_seed(self.settings.seed + 1)
        wrapped = attach(self.network, options)
        if self.keeps:
            self._take_adapter(self.keeps, wrapped)
        if self.network.lm_head.weight.device.type == "cuda":
            torch.cuda.empty_cache()
            self.network.compile_layers()
        return wrapped

    def _results(self, wrapped: Any) -> dict[str, Any]:
        judge = Judge(
            self.network, wrapped, self.labels, self.settings, self.jobs, self.folder, self.feed.check
        )
        fitted = judge.fit()
        write_json(self.options.out / "checkpoints" / "decision_config.json", fitted.document())
        results = judge.results(fitted)
        results["too_long"] = self.feed.too_long()
        write_json(self.options.out / "results.json", results)
        self.journal.write("results", **results)
        self._recipe(finished=True)
        draw(self.options.out)
        return results

    def _recipe(self, finished: bool = False) -> None:
        write_recipe(
            self.options.out, self.settings, self.name, seconds=round(self.clock.now(), 1), finished=finished,
            resumed=self.resumed, progress={phase: asdict(progress) for phase, progress in self.progress.items()},
            start=self.begun_from,
        )  # fmt: skip

    def _ask_to_stop(self) -> None:
        self._stop = True


def _require(device: str) -> None:
    """Raise NoDeviceError where the device is not there. Counting devices initialises none, so workers can still be forked."""
    if device == "cuda" and not torch.cuda.device_count():
        instead = "give --device cpu, with --tiny to see that everything works"
        raise NoDeviceError(no_cuda("training with --device cuda", instead))


def _rounded(network: nn.Module) -> dict[str, Tensor]:
    return {name: tensor.detach().bfloat16().cpu().clone() for name, tensor in network.state_dict().items()}


@contextmanager
def _on_signal(ask: Callable[[], None]) -> Iterator[None]:
    """While inside, SIGTERM and SIGINT ask instead of ending. Only a main thread can do that; elsewhere nothing changes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    old = {number: signal.signal(number, lambda *_: ask()) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)


__all__ = ["Options", "Run", "StoppedError", "train"]
