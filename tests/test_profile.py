"""A profile is read strictly, and says which key is wrong."""

import json

import pytest

from kit.profile import PROJECT_ROOT, ProfileError, load_profile, profile_from_dict

DEFAULT = "params/cpu-tiny.toml"


@pytest.fixture
def data():
    return load_profile(DEFAULT).resolved()


@pytest.mark.parametrize("path", sorted((PROJECT_ROOT / "params").glob("*.toml")), ids=lambda path: path.name)
def test_every_profile_of_the_project_loads(path):
    profile = load_profile(path)
    assert profile.name == path.stem
    assert profile.not_covered


def test_resolved_profile_loads_to_the_same_profile(data):
    assert profile_from_dict(data) == load_profile(DEFAULT)


def test_canonical_form_is_sorted_json_and_hashed():
    profile = load_profile(DEFAULT)
    assert json.loads(profile.canonical()) == profile.resolved()
    assert len(profile.sha256()) == 64
    assert profile.sha256() == load_profile(PROJECT_ROOT / DEFAULT).sha256()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"frobnicate": 1}, "unknown key frobnicate"),
        ({"runtime": {"device": "cpu", "thread": 1}}, "unknown key runtime.thread"),
        ({"runtime": {"device": "tpu"}}, "runtime.device is 'tpu', expected one of cpu, cuda"),
        ({"runtime": {"device": "cpu", "threads": "1"}}, "runtime.threads is the string '1', expected int"),
        ({"runtime": {"device": "cpu", "threads": True}}, "runtime.threads is the boolean True"),
        ({"runtime": {"device": "cpu", "threads": 0}}, "runtime.threads is 0"),
        ({"model": "JEMM"}, "model is the string, expected a table"),
        ({"model": {"name": "JEMM", "aliases": "jemm"}}, "model.aliases is 'jemm', expected a list"),
        ({"checkpoint": {"kind": "hub", "base": "a/b"}}, "checkpoint.base_revision is missing"),
        ({"checkpoint": {"kind": "synthetic", "generator": "cpu-tiny"}}, "checkpoint.digest is missing"),
        ({"campaign": {"engines": ["native", "native"]}}, "distinct names"),
        ({"campaign": {"engines": ["native"]}}, "campaign.reference is 'reference'"),
        ({"campaign": {"engines": ["native", "graph"], "reference": "native"}}, "never its own yardstick"),
        ({"campaign": {"engines": ["native"], "reference": ""}}, "claim is 'exact', which needs"),
        ({"checkpoint": {"kind": "export", "base": "f"}}, "campaign.reference is 'reference' and campaign.engines"),
        (
            {"checkpoint": {"kind": "export", "base": "f"}, "campaign": {"engines": ["reference"], "reference": ""}},
            "take 'reference' out of the engines",
        ),
        ({"campaign": {"engines": ["reference"]}}, "claim is 'exact', which needs"),
        ({"campaign": {"engines": ["reference", "remote"], "remote_url": "http://h"}}, "claim is 'exact'"),
        ({"campaign": {"passes": 1}}, "claim is 'exact', which needs"),
        ({"claim": "baseline", "campaign": {"engines": ["remote"], "reference": ""}}, "remote_url is missing"),
        ({"generated": {"questions": -1}}, "generated.questions is -1"),
        ({"claim": "baseline", "campaign": {"engines": ["reference"]}}, "generated.questions is 600, which needs"),
        ({"protocol": {"path": "p", "answers": "../reference.json"}}, "the name of a file in the protocol folder"),
        ({"protocol": {"path": "p", "answers": "corpus.jsonl"}}, "reference.json or reference-NAME.json"),
        ({"format": "kit-profile/9"}, "expected 'kit-profile/1'"),
    ],
)
def test_wrong_keys_and_types_are_named(data, change, message):
    with pytest.raises(ProfileError, match=message):
        profile_from_dict(data | change)


def test_a_missing_key_is_named(data):
    del data["claim"]
    with pytest.raises(ProfileError, match="claim is missing"):
        profile_from_dict(data)


@pytest.mark.parametrize("gate", ["probability", "confidence", "noul", "expected_value", "winner_margin"])
def test_gates_cannot_be_widened(data, gate):
    data["gates"][gate] *= 2
    with pytest.raises(ProfileError, match="never changed"):
        profile_from_dict(data)


def test_a_missing_file_points_to_params():
    with pytest.raises(ProfileError, match="params/"):
        load_profile("params/none.toml")


def test_broken_toml_is_named(tmp_path):
    (tmp_path / "bad.toml").write_text("a = [1,")
    with pytest.raises(ProfileError, match="not valid TOML"):
        load_profile(tmp_path / "bad.toml")
