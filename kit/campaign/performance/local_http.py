"""A worker of the kit in this process, around an engine that is already loaded.

Covers: `serving`, which answers real HTTP on a loopback port, and `ServedForm`, an engine in the shape a
worker needs around any `kit.engine.baseline.ModelForm`. Everything a worker's client waits for is there: sockets,
parsing, tokenising, queueing, the answer's JSON; no second copy of the weights is.
Does not cover: the worker as a process of its own, which the campaign's own engine stages run.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from kit.contract.answer import answer
from kit.engine.base import Counters, Decision, Event, Prepared, QuestionResult
from kit.serve import listener
from kit.serve.recorder import Recorder
from kit.serve.worker import create_app

if TYPE_CHECKING:
    from kit.contract.answer import Calibration
    from kit.engine.base import Engine
    from kit.engine.baseline import ModelForm
    from kit.profile import Profile

START_SECONDS = 30.0


class ServedForm:
    """A form of the model as an `Engine`. prepare: from body to prepared request, as the model's own engine does it."""

    def __init__(
        self, name: str, form: ModelForm, prepare: Callable[[bytes], Prepared], calibration: Calibration
    ) -> None:
        self.name = name
        self.calibration = calibration
        self._form, self._prepare = form, prepare

    def prepare(self, body: bytes) -> Prepared:
        """See `kit.engine.base.Engine.prepare`."""
        return self._prepare(body)

    def decide(self, prepared: Prepared) -> Decision:
        """Run the request. Raises AnswerError for logits that are not finite."""
        temperature = self.calibration.for_images(bool(prepared.grids))
        logits = self._form.run(prepared)
        answers = {
            item.question.id: answer(item.question, values, temperature)
            for item, values in zip(prepared.questions, logits, strict=True)
        }
        results = tuple(
            QuestionResult(item.question.id, values, b"", len(item.input_ids), Event())
            for item, values in zip(prepared.questions, logits, strict=True)
        )
        return Decision(answers, prepared.input_tokens, results, Event() if prepared.grids else None)

    def counters(self) -> Counters:
        """No caches of its own to count."""
        return {}

    def describe(self) -> dict[str, Any]:
        """Its name: nothing here is evidence of what ran."""
        return {"backend": self.name}

    def close(self) -> None:
        """The form's owner closes it."""


class Borrowed:
    """An engine whose worker may close it without consequence: it is used further afterwards."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def close(self) -> None:
        """Left open for its owner."""


@contextmanager
def serving(engine: Engine, profile: Profile) -> Iterator[str]:
    """URL of a worker around a loaded engine, for as long as the context lasts; the engine stays open.

    Raises TimeoutError when it does not come up.
    """
    borrowed: Any = Borrowed(engine)
    app = create_app(borrowed, profile, Recorder(None, engine.name, profile.model.name))
    socket, ready = listener.bind("127.0.0.1", 0), threading.Event()
    server = listener.Listener(app, on_ready=ready.set, on_stop=app.state.worker.stop)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[socket])), daemon=True)
    thread.start()
    try:
        if not ready.wait(START_SECONDS):
            raise TimeoutError(f"no worker on {listener.url_of(socket)} after {START_SECONDS:.0f} s")
        yield listener.url_of(socket)
    finally:
        server.should_exit = True
        thread.join()
        app.state.worker.close()
