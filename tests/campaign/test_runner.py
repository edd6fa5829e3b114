"""The runner: everything planned is sent in order and recorded raw; the first surprise stops it."""

import json
from contextlib import contextmanager
from pathlib import Path

import pytest

from kit.campaign.plan import planned_counts
from kit.campaign.protocol import load_protocol
from kit.campaign.run_folder import Run
from kit.campaign.runner import CampaignStoppedError, run_engine
from kit.campaign.verdict import compute_verdict
from kit.evidence.records import sha256_bytes
from kit.profile import load_profile
from tests.campaign.fake_worker import Behaviour, FakeWorker, Starter, fake_frontend
from tests.campaign.synthetic_run import RUN_ID, profile_toml, write_facts, write_protocol


def make_run(path: Path, **settings: object) -> Run:
    path.mkdir()
    options = {"engines": ("reference", "native", "graph"), "passes": 2, "claim": "exact", "reference": "reference"}
    (path / "profile.toml").write_text(profile_toml(**(options | settings)))
    profile = load_profile(path / "profile.toml")
    (path / "profile.json").write_bytes(profile.canonical())
    write_protocol(path / "protocol")
    protocol = load_protocol(path / "protocol")
    (path / "records").mkdir()
    write_facts(path, profile, protocol.sha256)
    return Run(path, profile, path / "profile.toml", protocol, "profile.toml")


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return make_run(tmp_path / RUN_ID)


def exchange_lines(run: Run, engine: str) -> list[dict]:
    lines = (run.path / "records" / engine / "exchanges.jsonl").read_text().split("\n")
    return [json.loads(line) for line in lines[1:-1]]


def test_a_whole_campaign_passes_its_own_verdict(run: Run) -> None:
    start = Starter()
    for engine in run.profile.campaign.engines:
        facts = run_engine(run, engine, start_worker=start, start_frontend=fake_frontend)
        assert facts["stopped"] == "orderly"
    verdict = compute_verdict(run.path)
    assert verdict["failures"] == []
    assert verdict["counts"]["by_engine"] == planned_counts(run.protocol, run.profile)
    assert [worker.sequence for worker in start.workers] == [16, 20, 25]


def test_bodies_are_kept_by_digest_and_health_holds_no_machine_names(run: Run) -> None:
    facts = run_engine(run, "native", start_worker=Starter())
    for line in exchange_lines(run, "native"):
        for key in ("request_sha256", "response_sha256"):
            assert sha256_bytes((run.path / "records" / "bodies" / line[key]).read_bytes()) == line[key]
    assert facts["health_before"] == facts["health_after"] == {"status": "READY", "model": "MADE-UP"}
    assert len(facts["health_after_refused"]) == 2
    assert "secret" not in json.dumps(facts)


def test_the_first_unexpected_status_stops_without_a_retry(run: Run) -> None:
    start = Starter(Behaviour(fail_at={5: (503, b'{"error":"RuntimeError","detail":"broken"}')}))
    with pytest.raises(CampaignStoppedError) as stopped:
        run_engine(run, "native", start_worker=start)
    assert "request 5 (measured, text-pair" in str(stopped.value)
    assert "expected status 200, got status 503" in str(stopped.value)
    assert start.workers[0].sequence == 5
    lines = exchange_lines(run, "native")
    assert len(lines) == 5
    assert lines[-1]["status"] == 503
    assert json.loads((run.path / "records/native/engine.json").read_text())["error"] == str(stopped.value)
    assert compute_verdict(run.path)["verdict"] == "fail"


def test_redirects_are_not_followed(run: Run) -> None:
    with pytest.raises(CampaignStoppedError, match="got status 302"):
        run_engine(run, "native", start_worker=Starter(Behaviour(fail_at={1: (302, b"{}")})))


def test_a_refused_request_that_is_answered_stops_too(run: Run) -> None:
    planned = {17: (200, b"{}")}
    with pytest.raises(CampaignStoppedError, match=r"refused-invalid-base64.*expected status 422, got status 200"):
        run_engine(run, "native", start_worker=Starter(Behaviour(fail_at=planned)))


def test_a_lost_connection_is_recorded_without_a_reply(run: Run) -> None:
    with pytest.raises(CampaignStoppedError, match=r"no reply \(RemoteProtocolError\)"):
        run_engine(run, "native", start_worker=Starter(Behaviour(drop_at=3)))
    last = exchange_lines(run, "native")[-1]
    assert (last["status"], last["response_sha256"]) == (None, None)


def test_a_server_that_is_not_ready_is_sent_nothing(run: Run) -> None:
    with pytest.raises(CampaignStoppedError, match="health before: expected READY, got STARTING"):
        run_engine(run, "native", start_worker=Starter(Behaviour(status="STARTING")))
    assert exchange_lines(run, "native") == []


def test_an_interrupted_attempt_is_set_aside_whole(run: Run) -> None:
    with pytest.raises(CampaignStoppedError):
        run_engine(run, "native", start_worker=Starter(Behaviour(drop_at=3)))
    run_engine(run, "native", start_worker=Starter())
    aside = run.path / "attempts" / "native-1"
    assert sorted(file.name for file in aside.iterdir()) == [
        "engine.json", "exchanges.jsonl", "native.log", "worker.jsonl",
    ]  # fmt: skip
    assert len(exchange_lines(run, "native")) == 20
    with pytest.raises(CampaignStoppedError):
        run_engine(run, "native", start_worker=Starter(Behaviour(drop_at=3)))
    assert len((run.path / "attempts" / "native-2" / "exchanges.jsonl").read_text().splitlines()) == 21


def test_a_failed_start_is_kept_with_its_log(run: Run) -> None:
    @contextmanager
    def fails(profile_path: Path, engine: str, *, log: Path, record: Path):
        log.write_text("no such weights\n")
        raise OSError("did not start")
        yield

    with pytest.raises(OSError, match="did not start"):
        run_engine(run, "native", start_worker=fails)
    assert (run.path / "attempts/native-1/native.log").read_text() == "no such weights\n"
    assert not (run.path / "records/native").exists()


def test_proxies_of_the_environment_are_ignored(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    run_engine(run, "reference", start_worker=Starter())


def test_a_remote_server_is_judged_against_frozen_answers_alone(tmp_path: Path) -> None:
    first = make_run(tmp_path / "first")
    server = FakeWorker(first.profile_path, "native", None, Behaviour())
    try:
        run = make_run(
            tmp_path / "remote-run", engines=("remote",), reference="", claim="baseline", remote_url=server.url + "/"
        )
        facts = run_engine(run, "remote")
    finally:
        server.close()
    assert facts["backend"] == "remote"
    assert {line["sequence"] for line in exchange_lines(run, "remote")} == {None}
    verdict = compute_verdict(run.path)
    assert verdict["verdict"] == "pass"
    assert verdict["against"] == ["frozen"]
    assert "no reference engine was run" in verdict["scope"]
    assert not {"hidden_bitwise", "logits_bitwise", "operators"} & {gate["gate"] for gate in verdict["gates"]}
