"""What is sent, in which order, and how often."""

from types import SimpleNamespace

import pytest

from kit.campaign.plan import frontend_cases, planned_counts, planned_exchanges
from kit.campaign.protocol import Protocol, load_protocol
from kit.profile import PROJECT_ROOT, load_profile
from tests.campaign.synthetic_run import profile_toml, write_protocol


@pytest.fixture
def protocol(tmp_path) -> Protocol:
    write_protocol(tmp_path / "protocol")
    return load_protocol(tmp_path / "protocol")


@pytest.fixture
def profile(tmp_path):
    file = tmp_path / "p.toml"
    file.write_text(profile_toml(engines=("reference", "graph"), passes=2, claim="exact", reference="reference"))
    return load_profile(file)


def test_the_order_of_phases(protocol, profile) -> None:
    planned = planned_exchanges(protocol, profile, "graph")
    phases = [(item.phase, item.pass_number) for item in planned]
    assert list(dict.fromkeys(phases)) == [
        ("feasibility", 0), ("measured", 1), ("measured", 2), ("refused", 0), ("recovery", 0), ("frontend", 0),
    ]  # fmt: skip
    assert [item.request_id for item in planned[16:20]] == [
        "refused-invalid-base64", "text-choice", "refused-five-images", "image-one",
    ]  # fmt: skip
    assert [item.n for item in planned] == list(range(1, 26))
    assert [item.expect for item in planned].count(422) == 2


def test_each_pass_is_the_corpus_in_its_order(protocol, profile) -> None:
    planned = planned_exchanges(protocol, profile, "reference")
    ids = [case.id for case in protocol.cases]
    for number in (1, 2):
        assert [item.request_id for item in planned if item.pass_number == number] == ids
    bodies = {case.id: case.body for case in protocol.cases}
    assert all(item.body == bodies[item.request_id] for item in planned)


def test_frontend_spots_are_the_first_of_each_kind(protocol) -> None:
    assert [case.id for case in frontend_cases(protocol)] == [
        "text-choice", "text-score", "text-pair", "image-one", "image-four",
    ]  # fmt: skip


def test_the_project_s_own_campaign_is_187_posts() -> None:
    profile = load_profile(PROJECT_ROOT / "params" / "cpu-tiny.toml")
    body = b'{"questions":{"a":{"type":"%s"}},"images":[%s]}'
    kinds = [("text", b"choice", 0), ("text", b"score", 0), ("text", b"noul", 0), ("image", b"noul", 1)]
    kinds += [("image", b"choice", 4)] + [("text", b"choice", 0)] * 23
    cases = tuple(
        SimpleNamespace(id=f"r{i}", modality=modality, body=body % (kind, b",".join([b'"x"'] * images)))
        for i, (modality, kind, images) in enumerate(kinds)
    )
    counts = planned_counts(SimpleNamespace(cases=cases), profile)
    assert counts == {"reference": 58, "native": 62, "graph": 62, "frontend": 5}
    assert sum(counts.values()) == 187
