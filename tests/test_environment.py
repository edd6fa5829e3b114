"""environment.yml holds what pyproject's core, gpu and notebook extras ask for, and nothing else."""

import tomllib

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from kit.profile import PROJECT_ROOT

PINS = {
    "torch": "2.12.1",
    "transformers": "5.17.0",
    "peft": "0.21.0",
    "flash-linear-attention": "0.5.2",
    "triton": "3.7.1",
}


def conda_requirements() -> dict[str, Requirement]:
    entries = yaml.safe_load((PROJECT_ROOT / "environment.yml").read_text())["dependencies"]
    names = [entry for entry in entries if isinstance(entry, str) and not entry.startswith(("python=", "pip"))]
    by_pip = next(entry["pip"] for entry in entries if isinstance(entry, dict))
    return {canonicalize_name(r.name): r for r in map(Requirement, [*names, *by_pip])}


def project_requirements() -> dict[str, Requirement]:
    project = tomllib.loads((PROJECT_ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *extras["gpu"], *extras["notebook"]]
    return {canonicalize_name(r.name): r for r in map(Requirement, wanted)}


def test_same_packages():
    assert set(conda_requirements()) == set(project_requirements())


@pytest.mark.parametrize("name", sorted(project_requirements()))
def test_each_range_agrees(name):
    conda, project = conda_requirements()[name].specifier, project_requirements()[name].specifier
    if name in PINS:
        assert conda == SpecifierSet(f"=={PINS[name]}")
        assert project.contains(PINS[name])
    else:
        assert conda == project


def test_python_is_3_12():
    entries = yaml.safe_load((PROJECT_ROOT / "environment.yml").read_text())["dependencies"]
    assert "python=3.12" in entries
