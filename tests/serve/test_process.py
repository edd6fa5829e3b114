"""Owned servers come up, answer, stop in order, and are never left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from kit.profile import PROJECT_ROOT
from kit.serve import process
from kit.serve.process import OwnedProcess, ServerGoneError, StartFailedError, start_frontend, start_worker
from tests.serve.running import body_of, connect, send_post, wait_until

FAKE = (sys.executable, "-m", "tests.serve.fake_kit")
PROFILE = "params/cpu-tiny.toml"


def start(tmp_path: Path, **more: Any) -> OwnedProcess:
    return start_worker(PROFILE, "native", log=tmp_path / "logs" / "worker.log", program=FAKE, timeout=30, **more)


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def gone(pid: int | None) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


class TestLife:
    def test_start_answer_stop(self, tmp_path: Path) -> None:
        record = tmp_path / "worker.jsonl"
        with start(tmp_path, record=record) as worker:
            assert worker.ready["engine"] == "native"
            assert worker.health() == {"status": "READY", "model": "JEMM"}
            assert worker.start_seconds > 0
            reply = httpx.post(worker.url + "/v1/systemone", content=body_of("x"), trust_env=False)
            assert reply.headers["x-kit-sequence"] == "1"
            assert worker.stop() == "orderly"
        assert worker.returncode == 0
        kinds = [line.get("kind") for line in lines_of(record)]
        assert kinds == [None, "question", "vision", "question", "ready", "question", "post", "closed"]
        assert gone(worker.pid)

    def test_the_ready_line_of_the_record(self, tmp_path: Path) -> None:
        record = tmp_path / "worker.jsonl"
        with start(tmp_path, record=record):
            ready = next(line for line in lines_of(record) if line.get("kind") == "ready")
        assert list(ready) == ["kind", "describe", "counters", "memory", "settings", "load_seconds"]
        assert ready["memory"] == {}  # no CUDA device in this process
        assert ready["counters"] == {"text": {"replays": 2}}  # the two warm-ups

    def test_a_stop_lets_the_running_request_finish(self, tmp_path: Path) -> None:
        record = tmp_path / "worker.jsonl"
        with start(tmp_path, record=record) as worker, ThreadPoolExecutor(1) as pool:
            url = worker.url + "/v1/systemone"
            reply = pool.submit(httpx.post, url, content=body_of("slow"), trust_env=False)
            wait_until(lambda: "slow" in worker.log_tail())
            assert worker.stop() == "orderly"
            assert reply.result().status_code == 200
        assert [line["kind"] for line in lines_of(record)[-2:]] == ["post", "closed"]

    def test_a_request_that_outlasts_the_stop_is_killed_with_its_worker(self, tmp_path: Path) -> None:
        record = tmp_path / "worker.jsonl"
        with start(tmp_path, record=record) as worker:
            client = send_post(worker.url, body_of("block"))
            wait_until(lambda: "blocked" in worker.log_tail())
            assert worker.stop(timeout=0.5) == "killed"
            client.close()
        assert worker.returncode == -signal.SIGKILL
        assert lines_of(record)[-1]["kind"] == "ready"

    def test_a_frontend_before_a_worker(self, tmp_path: Path) -> None:
        with (
            start(tmp_path) as worker,
            start_frontend(PROFILE, worker.url, log=tmp_path / "frontend.log", program=FAKE, timeout=30) as front,
        ):
            reply = httpx.post(front.url + "/v1/systemone", content=body_of("x"), trust_env=False)
            assert (reply.status_code, reply.headers["x-kit-sequence"]) == (200, "1")
            worker.kill()
            assert front.health()["error"] == "RuntimeError"
            assert front.stop() == "orderly"

    def test_a_killed_worker_says_so_and_its_port_is_free(self, tmp_path: Path) -> None:
        worker = start(tmp_path)
        worker.kill()
        assert worker.returncode == -signal.SIGKILL
        assert worker.stop() == "killed"
        with pytest.raises(ServerGoneError):
            worker.health()
        with pytest.raises(OSError):
            connect(worker.url)

    def test_prints_go_to_the_log(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("FAKE_KIT", "chatty")
        with start(tmp_path) as worker:
            assert worker.health()["status"] == "READY"
        log = worker.log.read_text()
        assert "hello from an import" in log
        assert "printed by a library while loading" in log


class TestFailedStart:
    def test_the_error_has_exit_code_and_log_tail(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("FAKE_KIT", "crash")
        with pytest.raises(StartFailedError, match="no weights here") as caught:
            start(tmp_path)
        assert caught.value.exit_code == 2
        assert "RuntimeError: no weights here" in caught.value.log_tail

    def test_the_log_names_no_folder_of_this_machine(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("FAKE_KIT", "crash")
        with pytest.raises(StartFailedError) as caught:
            start(tmp_path)
        assert str(PROJECT_ROOT) not in caught.value.log_tail
        assert "./kit/serve/" in caught.value.log_tail

    def test_too_slow(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("FAKE_KIT", "silent")
        with pytest.raises(StartFailedError, match=r"not ready after 0\.5 s"):
            start_worker(PROFILE, "native", log=tmp_path / "log", program=FAKE, timeout=0.5)
        assert not process._live

    def test_a_command_that_does_not_exist(self, tmp_path: Path) -> None:
        with pytest.raises(StartFailedError, match="cannot be run"):
            start_worker(PROFILE, "native", log=tmp_path / "log", program=("no-such-program",))
        assert not process._live

    def test_an_interrupt_while_it_starts(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("FAKE_KIT", "silent")
        threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            start(tmp_path)
        assert not process._live
        assert not [child for child in psutil.Process().children() if "fake_kit" in " ".join(child.cmdline())]

    def test_a_record_that_exists_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "worker.jsonl").write_text("old\n")
        with pytest.raises(StartFailedError, match="one worker"):
            start(tmp_path, record=tmp_path / "worker.jsonl")
        assert (tmp_path / "worker.jsonl").read_text() == "old\n"


class TestNothingIsLeftBehind:
    def test_an_exception_in_the_block(self, tmp_path: Path) -> None:
        with pytest.raises(ZeroDivisionError), start(tmp_path) as worker:
            raise ZeroDivisionError
        assert gone(worker.pid)
        assert worker.returncode == 0

    def test_a_server_that_ignores_the_signal_is_killed(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("FAKE_KIT", "stubborn")
        worker = start(tmp_path)
        assert worker.stop(timeout=0.3) == "killed"
        assert gone(worker.pid)

    @pytest.mark.parametrize("end", ["stop", "kill"])
    def test_what_the_server_started_goes_with_it(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str
    ) -> None:
        monkeypatch.setenv("FAKE_KIT", "child")
        worker = start(tmp_path)
        child = int(worker.log_tail().split("child ")[1].split()[0])
        assert not gone(child)
        getattr(worker, end)()
        wait_until(lambda: gone(child))

    def test_a_thread_that_started_a_server_may_end(self, tmp_path: Path) -> None:
        started: list[OwnedProcess] = []
        thread = threading.Thread(target=lambda: started.append(start(tmp_path)))
        thread.start()
        thread.join()
        time.sleep(0.3)
        with started[0] as worker:
            assert worker.health()["status"] == "READY"

    def test_the_end_of_standard_input_stops_it_in_order(self, tmp_path: Path) -> None:
        record = tmp_path / "worker.jsonl"
        command = [*FAKE, "serve", PROFILE, "--engine", "native", "--port", "0", "--owned", "--record", str(record)]
        child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=PROJECT_ROOT)
        assert child.stdout is not None
        assert child.stdin is not None
        assert json.loads(child.stdout.readline())["event"] == "ready"
        child.stdin.close()
        assert child.wait(10) == 0
        assert lines_of(record)[-1]["kind"] == "closed"
        child.stdout.close()


PARENT = """
import os, signal, sys, time
from pathlib import Path
from kit.serve.process import start_worker
fake = (sys.executable, "-m", "tests.serve.fake_kit")
end, folder = sys.argv[1], Path(sys.argv[2])
worker = start_worker("params/cpu-tiny.toml", "native", log=folder / "log", record=folder / "record", program=fake)
print(worker.pid, flush=True)
if end == "exit":
    sys.exit(0)
if end == "forget":
    raise RuntimeError("nobody stops the worker")
if end == "fork" and os.fork() == 0:
    time.sleep(20)  # holds a copy of the worker's standard input
    os._exit(0)
time.sleep(60)
"""

GRANDPARENT = """
import subprocess, sys, time
parent = subprocess.Popen([sys.executable, "-c", sys.argv[1], "wait", sys.argv[2]])
print(parent.pid, flush=True)
time.sleep(60)
"""


class TestDeathOfTheParent:
    def run_parent(self, end: str, folder: Path) -> tuple[subprocess.Popen[str], int]:
        command = [sys.executable, "-c", PARENT, end, str(folder)]
        parent = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=PROJECT_ROOT)
        assert parent.stdout is not None
        return parent, int(parent.stdout.readline())

    @pytest.mark.parametrize("end", ["exit", "forget"])
    def test_a_parent_that_ends_without_stopping_it(self, tmp_path: Path, end: str) -> None:
        parent, pid = self.run_parent(end, tmp_path)
        parent.communicate(timeout=20)
        assert gone(pid)
        assert lines_of(tmp_path / "record")[-1]["kind"] == "closed"

    @pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
    def test_a_parent_that_is_killed_or_interrupted(self, tmp_path: Path, number: signal.Signals) -> None:
        parent, pid = self.run_parent("wait", tmp_path)
        assert not gone(pid)
        parent.send_signal(number)
        parent.communicate(timeout=20)
        wait_until(lambda: gone(pid))

    @pytest.mark.skipif(sys.platform != "linux", reason="needs the parent-death signal of Linux")
    def test_a_killed_parent_whose_fork_still_holds_the_pipe(self, tmp_path: Path) -> None:
        parent, pid = self.run_parent("fork", tmp_path)
        time.sleep(0.2)
        forks = psutil.Process(parent.pid).children()
        parent.kill()
        try:
            wait_until(lambda: gone(pid))
        finally:
            for child in forks:
                if child.is_running():
                    child.kill()
            parent.communicate(timeout=20)

    def test_a_parent_that_a_killed_grandparent_leaves_alive_keeps_its_worker(self, tmp_path: Path) -> None:
        """And when the orphaned parent is killed in turn, the worker goes."""
        command = [sys.executable, "-c", GRANDPARENT, PARENT, str(tmp_path)]
        grandparent = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=PROJECT_ROOT)
        assert grandparent.stdout is not None
        parent = int(grandparent.stdout.readline())
        pid = int(grandparent.stdout.readline())
        try:
            grandparent.kill()
            grandparent.wait(10)
            time.sleep(0.3)
            assert not gone(pid)
        finally:
            os.kill(parent, signal.SIGKILL)
        wait_until(lambda: gone(pid))
        grandparent.stdout.close()
