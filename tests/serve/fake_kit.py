"""`python -m kit` with a fake engine: the same arguments, real server code, no torch.

FAKE_KIT in the environment makes it misbehave: "crash" in loading, "silent" never ready, "chatty" prints first,
"stubborn" ignores the stop signal, "child" starts a process of its own and writes its id to the log.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from kit import runtime
from kit.profile import load_profile
from kit.serve import frontend, worker
from kit.serve.listener import Listener
from tests.serve.fake_engine import FakeEngine


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("verb", choices=["serve", "frontend"])
    parser.add_argument("profile")
    parser.add_argument("--engine")
    parser.add_argument("--backend")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--record", type=Path)
    parser.add_argument("--owned", action="store_true")
    given = parser.parse_args()
    profile = load_profile(given.profile)
    runtime.configure = lambda profile: {}
    misbehave(os.environ.get("FAKE_KIT", ""))
    if given.verb == "frontend":
        return frontend.run(profile, given.backend, port=given.port, owned=given.owned)
    return worker.serve(profile, given.engine, load, "127.0.0.1", given.port, given.record, given.owned)


def load() -> FakeEngine:
    if os.environ.get("FAKE_KIT") == "crash":
        raise RuntimeError("no weights here")
    print("printed by a library while loading")
    return FakeEngine()


def misbehave(how: str) -> None:
    if how == "chatty":
        print("hello from an import", flush=True)
    if how == "silent":
        time.sleep(60)
    if how == "stubborn":
        Listener.handle_exit = ignore  # type: ignore[method-assign]
    if how == "child":
        process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], stdin=subprocess.DEVNULL)
        print(f"child {process.pid}", file=sys.stderr, flush=True)


def ignore(self: Any, sig: int, frame: Any) -> None:
    assert sig in (signal.SIGTERM, signal.SIGINT)


if __name__ == "__main__":
    sys.exit(main())
