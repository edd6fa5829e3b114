"""One sealed bundle of each kind for all tests of a session, and a copy to tamper with for each test."""

import shutil
from pathlib import Path

import pytest

from tests.evidence.make_bundle import Tamper, make_bundle


@pytest.fixture(scope="session")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A good bundle; tests only read it."""
    return make_bundle(tmp_path_factory.mktemp("sealed"))


@pytest.fixture(scope="session")
def on_gpu(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A good bundle of a run on a device, with measurements; tests only read it."""
    return make_bundle(tmp_path_factory.mktemp("gpu"), device="cuda")


@pytest.fixture
def bundle(sealed: Path, tmp_path: Path) -> Path:
    """A copy of the good bundle."""
    return shutil.copytree(sealed, tmp_path / "bundle")


@pytest.fixture
def tamper(bundle: Path) -> Tamper:
    return Tamper(bundle)
