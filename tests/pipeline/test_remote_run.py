"""Somebody's server by URL: against the fresh reference, and against frozen answers alone."""

import json
import os
import subprocess
import sys

import pytest

from kit.profile import PROJECT_ROOT, load_profile
from kit.serve.process import start_worker

pytestmark = pytest.mark.timeout(600)  # half a minute, on a machine that has nothing else to do


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A second server, started by hand as far as the campaign is concerned."""
    folder = tmp_path_factory.mktemp("server")
    with start_worker(PROJECT_ROOT / "params/cpu-tiny.toml", "native", log=folder / "log") as worker:
        yield worker.url


def run(tmp_path, profile_text):
    profile = tmp_path / "remote.toml"
    profile.write_text(profile_text)
    done = subprocess.run(
        [sys.executable, "-m", "kit", "run", str(profile), "--id", "remote"],
        capture_output=True, text=True, timeout=580, cwd=PROJECT_ROOT, check=False,
        env={**os.environ, "KIT_RUNS": str(tmp_path / "runs")},
    )  # fmt: skip
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout.splitlines()[-1]), tmp_path / "runs/remote"


def profile_text(url):
    text = (PROJECT_ROOT / "params/cpu-tiny-remote.toml").read_text()
    return text.replace(load_profile("params/cpu-tiny-remote.toml").campaign.remote_url, url)


def without_reference(url):
    return profile_text(url).replace('engines = ["reference", "remote"]', 'engines = ["remote"]\nreference = ""')


def test_judged_on_probabilities_against_the_fresh_reference(server, tmp_path):
    code, line, bundle = run(tmp_path, profile_text(server))
    assert (code, line["verdict"]) == (0, "pass"), line
    assert line["by_engine"] == {"reference": 58, "remote": 62}
    assert line["max_probability_drift"] == 0.0
    assert not (bundle / "records/remote/worker.jsonl").exists()


def test_judged_against_frozen_answers_alone(server, tmp_path):
    code, line, bundle = run(tmp_path, without_reference(server))
    assert (code, line["verdict"]) == (0, "pass"), line
    assert line["posts"] == 62
    verdict = json.loads((bundle / "verdict.json").read_text())
    assert verdict["against"] == ["frozen"]
    assert "no reference engine" in verdict["scope"]


def test_a_server_that_is_not_there_is_no_pass(tmp_path):
    code, line, _ = run(tmp_path, without_reference("http://127.0.0.1:9"))
    assert (code, line["verdict"]) == (2, "not-judged")
    assert "unreachable" in line["failures"][0]
