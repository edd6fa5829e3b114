"""One bench of few requests, for the tests that plant."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kit.campaign.planted.command import Chosen
from kit.campaign.planted.trials import Bench
from kit.profile import Profile


@contextmanager
def opened(profile: Profile, chosen: Chosen) -> Iterator[Bench]:
    bench = Bench(profile, chosen.requests, few=True)
    try:
        yield bench
    finally:
        bench.close()
