"""Server processes this process owns: started on a free loopback port, watched, and never left behind.

Covers: starting a worker or a frontend and waiting for its ready line, its log file, health, an orderly stop
that ends in a kill if it must. A child goes away
- at the end of a `with` block, whatever ended the block (an exception, Ctrl-C),
- at the normal exit of this process, if nobody stopped it before,
- when this process is killed without a chance to do anything: the kernel kills the child (Linux) and its
  standard input ends (everywhere); see `kit.serve.listener.follow_parent`.
Does not cover: servers on other machines, or ones that were not started here.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any, Literal

import httpx

from kit import runtime
from kit.profile import PROJECT_ROOT, from_root, load_profile

KIT = (sys.executable, "-m", "kit")
START_SECONDS = 1800.0  # tens of gigabytes from a cold disk, then the warm-ups
STOP_SECONDS = 60.0  # the running request may finish
HEALTH_SECONDS = 10.0
TAIL_BYTES = 4000

Stopped = Literal["orderly", "killed"]


class StartFailedError(RuntimeError):
    """A server process did not become ready. exit_code is None when it did not end by itself."""

    def __init__(self, name: str, reason: str, exit_code: int | None, log_tail: str) -> None:
        tail = log_tail.strip() or "(the log is empty)"
        super().__init__(f"{name} did not start: {reason}. End of its log:\n{tail}")
        self.exit_code = exit_code
        self.log_tail = log_tail


class ServerGoneError(RuntimeError):
    """An owned server does not answer."""


class OwnedProcess:
    """A running server of ours. Made by `start_worker` and `start_frontend`; use it in a `with` block.

    url: its base URL. ready: its ready line. start_seconds: from start to ready. returncode: None while it runs.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        log: Path,
        environment: Mapping[str, str],
        timeout: float = START_SECONDS,
    ) -> None:
        """Start and wait for the ready line. Raises StartFailedError; on any exception nothing is left behind.

        environment: variables set on top of this process's own. timeout: seconds until ready.
        """
        self.name = name
        self.log = log
        self.ready: dict[str, Any] = {}
        self.returncode: int | None = None
        self.start_seconds = 0.0
        self._owner = os.getpid()
        self._lines: SimpleQueue[dict[str, Any] | Exception | None] = SimpleQueue()
        self._exited = threading.Event()
        self._reaping = threading.Lock()
        self._pid: int | None = None
        self._doomed = False
        log.parent.mkdir(parents=True, exist_ok=True)
        # The kernel ties a child to the thread that started it, not to the process: a thread of its own
        # starts the child and stays until it is gone, whichever thread (a notebook's, say) called us.
        self._keeper = threading.Thread(
            target=self._keep, args=(list(command), {**os.environ, **environment}), name=f"own {name}", daemon=True
        )
        _live.add(self)
        try:
            self._start(timeout)
        except BaseException:
            self.kill()
            _live.discard(self)
            raise

    @property
    def url(self) -> str:
        return str(self.ready["url"])

    @property
    def pid(self) -> int | None:
        return self._pid

    def __enter__(self) -> OwnedProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def health(self) -> dict[str, Any]:
        """The body of GET /health, ready or not. Raises ServerGoneError when there is none."""
        try:
            reply = httpx.get(f"{self.url}/health", timeout=HEALTH_SECONDS, trust_env=False)
            body = reply.json()
        except (httpx.HTTPError, ValueError) as error:
            raise ServerGoneError(f"{self.name} gives no health: {type(error).__name__}: {error}") from error
        return dict(body)

    def stop(self, timeout: float = STOP_SECONDS) -> Stopped:
        """Ask it to stop, wait, and kill it after `timeout` seconds. Says how it ended; safe to call again."""
        if os.getpid() != self._owner:
            return "killed"  # a fork of the owner owns nothing
        try:
            self._signal(signal.SIGTERM)
            if not self._exited.wait(timeout):
                self.kill()
        except BaseException:
            self.kill()
            raise
        return "orderly" if self.returncode == 0 else "killed"

    def kill(self) -> None:
        """Kill it and everything it started, now, and wait until it is gone."""
        if os.getpid() != self._owner:
            return
        self._doomed = True  # in case the keeper is still between starting it and knowing its id
        self._signal(signal.SIGKILL, group=True)
        if self._keeper.ident is not None:
            self._exited.wait()

    def log_tail(self) -> str:
        """The last lines of its log."""
        try:
            data = self.log.read_bytes()[-TAIL_BYTES:]
        except OSError as error:
            return f"(no log: {error.strerror})"
        return data.decode("utf-8", errors="replace")

    def _start(self, timeout: float) -> None:
        started = time.monotonic()
        self._keeper.start()
        try:
            line = self._lines.get(timeout=timeout)
        except Empty:
            self.kill()
            raise StartFailedError(self.name, f"not ready after {timeout:g} s", None, self.log_tail()) from None
        if isinstance(line, Exception):
            raise StartFailedError(self.name, f"its command cannot be run ({line})", None, "") from line
        if line is None:
            self._exited.wait(STOP_SECONDS)  # its output ended, so it is on its way out
            reason = "its output ended" if self.returncode is None else f"exit code {self.returncode}"
            raise StartFailedError(self.name, reason, self.returncode, self.log_tail())
        self.start_seconds = time.monotonic() - started
        self.ready = line

    # ------------------------------------------------------------ keeper thread

    def _keep(self, command: list[str], environment: dict[str, str]) -> None:
        try:
            with self.log.open("ab") as log:
                process = subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    env=environment,
                    cwd=PROJECT_ROOT,
                    start_new_session=True,  # Ctrl-C in a terminal reaches us only, and we stop it in order
                )
        except Exception as error:  # raised in the thread that waits for the ready line
            self._lines.put(error)
            self._exited.set()
            return
        self._pid = process.pid
        if self._doomed:
            self._signal(signal.SIGKILL, group=True)
        # Read apart from waiting: something the child started may hold its output open after it is gone.
        threading.Thread(target=self._read_stdout, args=(process,), name=f"read {self.name}", daemon=True).start()
        self._reap(process)
        _live.discard(self)
        self._exited.set()

    def _read_stdout(self, process: subprocess.Popen[bytes]) -> None:
        """Pass on the ready line; everything else it prints belongs in the log."""
        assert process.stdout is not None
        try:
            with process.stdout as lines, self.log.open("ab", buffering=0) as log:
                for line in lines:
                    document = _ready_line(line)
                    if document is None:
                        log.write(line)
                    else:
                        self._lines.put(document)
        finally:
            self._lines.put(None)

    def _reap(self, process: subprocess.Popen[bytes]) -> None:
        """Wait for the end, then kill what it may have started.

        The child is reaped last: until then its id, which is that of its group, cannot be given to another.
        """
        if hasattr(os, "waitid"):
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        with self._reaping:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            self.returncode = process.wait()
        if process.stdin:
            process.stdin.close()

    def _signal(self, number: signal.Signals, *, group: bool = False) -> None:
        with self._reaping:
            if self._pid is not None and self.returncode is None:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    (os.killpg if group else os.kill)(self._pid, number)


_live: set[OwnedProcess] = set()


@atexit.register
def _stop_all() -> None:
    for process in list(_live):
        process.stop()


def _ready_line(line: bytes) -> dict[str, Any] | None:
    try:
        document = json.loads(line)
    except ValueError:
        return None
    return document if isinstance(document, dict) and document.get("event") == "ready" else None


def start_worker(
    profile_path: str | Path,
    engine: str,
    *,
    log: Path,
    record: Path | None = None,
    timeout: float = START_SECONDS,
    program: Sequence[str] = KIT,
) -> OwnedProcess:
    """Start a worker and wait until it is warm. program: what to run in place of `python -m kit`."""
    options = ["--engine", engine, *(("--record", str(record.absolute())) if record else ())]
    return _start(f"worker {engine}", "serve", profile_path, options, log, timeout, program)


def start_frontend(
    profile_path: str | Path,
    backend_url: str,
    *,
    log: Path,
    timeout: float = 60.0,
    program: Sequence[str] = KIT,
) -> OwnedProcess:
    """Start a frontend to `backend_url` and wait until it listens."""
    return _start("frontend", "frontend", profile_path, ["--backend", backend_url], log, timeout, program)


def _start(
    name: str,
    verb: str,
    profile_path: str | Path,
    options: list[str],
    log: Path,
    timeout: float,
    program: Sequence[str],
) -> OwnedProcess:
    profile = load_profile(profile_path)
    path = Path(profile_path)
    file = path.absolute() if path.exists() else from_root(path)
    command = [*program, verb, str(file), *options, "--port", "0", "--owned"]
    return OwnedProcess(name, command, log=log, environment=runtime.environment(profile), timeout=timeout)
