"""What a floor asks: the generated questions its profile declares, then the protocol's."""

from __future__ import annotations

import pytest

from kit.campaign.floor import asking
from kit.campaign.generated.source import declared
from kit.campaign.protocol import protocol_of
from kit.profile import load_profile


@pytest.mark.parametrize("name", ["cpu-tiny", "cpu-decider"])
def test_it_asks_what_the_campaign_asks(name: str) -> None:
    profile = load_profile(f"params/{name}.toml")
    asked = asking.questions(profile, 12)
    wanted = [case.body for case in declared(profile.generated, 12)]
    assert [question.body for question in asked if question.source == "generated"] == wanted
    assert sum(question.source == "protocol" for question in asked) == sum(len(case.questions) for case in protocol_of(profile).cases)
