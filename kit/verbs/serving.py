"""Verbs that answer requests: decide and prepare here and now, serve and frontend until stopped.

Covers: the words of the command line; each verb is a call into `kit.engine` or `kit.serve`. On an error standard
output stays empty: whoever keeps it keeps answers only. Does not cover: the servers themselves (`kit.serve`).
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from kit.runtime import configured, on_device
from kit.verbs.arguments import EngineName, HostOption, OwnedOption, ProfileArgument, RequestArgument
from kit.verbs.output import emit
from kit.verbs.request_file import read_request


def decide(
    profile: ProfileArgument,
    request: RequestArgument,
    engine: Annotated[EngineName, typer.Option(help="Which engine answers.")] = EngineName.native,
) -> None:
    """Answer one request in this process and print the response."""
    body = read_request(request)
    settings = on_device(profile)
    from kit import engine as engines
    from kit.contract.answer import response

    loaded = engines.load(engine.value, settings)
    try:
        started = time.perf_counter()
        decision = loaded.decide(loaded.prepare(body))
        latency_ms = (time.perf_counter() - started) * 1000
    finally:
        loaded.close()
    emit(response(settings.model.name, decision.answers, decision.input_tokens, latency_ms))


def prepare(profile: ProfileArgument, request: RequestArgument) -> None:
    """Print what the model would be given, one JSON line a question; needs no weights."""
    body = read_request(request)
    settings = configured(profile)
    from kit.engine.preview import describe_prepared, preparer_without_weights

    preparer = preparer_without_weights(settings)
    print(f"tokenizer: {preparer.tokenizer.source}", file=sys.stderr)
    for line in describe_prepared(preparer.prepare(body)):
        emit(line)


def serve(
    profile: ProfileArgument,
    engine: Annotated[EngineName, typer.Option(help="Which engine answers.")] = EngineName.native,
    host: HostOption = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = 8000,
    record: Annotated[Path | None, typer.Option(help="Append raw logits and hidden rows to this file.")] = None,
    owned: OwnedOption = False,
) -> None:
    """Serve one engine behind POST /v1/systemone until stopped."""
    from kit.profile import load_profile
    from kit.serve import worker

    raise typer.Exit(worker.run(load_profile(profile), engine.value, host=host, port=port, record=record, owned=owned))


def frontend(
    profile: ProfileArgument,
    backend: Annotated[str, typer.Option(help="Base URL of the worker to forward to.")],
    host: HostOption = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = 8080,
    owned: OwnedOption = False,
) -> None:
    """Forward requests to a worker, changing nothing."""
    from kit.profile import load_profile
    from kit.serve import frontend as front

    raise typer.Exit(front.run(load_profile(profile), backend, host=host, port=port, owned=owned))
