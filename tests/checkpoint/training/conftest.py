"""One decider of random weights on disk for the tests of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checkpoint.training import random_decider


@pytest.fixture(scope="session")
def random_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """base/ and adapter/ of a random decider; tests only read them."""
    folder = tmp_path_factory.mktemp("decider")
    random_decider.checkpoint(folder)
    return folder
