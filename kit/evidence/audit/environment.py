"""Threads, precision and installed packages, as the processes reported them."""

from __future__ import annotations

from kit.evidence.audit.reading import Bundle
from kit.evidence.audit.values import short


def check_settings(bundle: Bundle) -> None:
    """Threads and precision were what the profile and an exact comparison want, in every process."""
    places = {"environment.json": bundle.json("environment.json")["settings"]}
    for engine in bundle.recorded_engines:
        name = "records/%s/worker.jsonl" % engine
        places.update((name, line["settings"]) for line in bundle.worker(engine) if line["kind"] == "ready")
    wanted = {
        "threads": bundle.profile["runtime"]["threads"],
        "float32_matmul_precision": "highest",
        "cuda_matmul_allow_tf32": False,
        "cudnn_allow_tf32": False,
    }
    for where, settings in places.items():
        for name, expected in wanted.items():
            bundle.expect("%s settings %s" % (where, name), settings.get(name), expected)


def check_packages(bundle: Bundle) -> None:
    """No computing package differs from its installer's record; what was not checked is said."""
    packages = bundle.json("environment.json")["packages"]
    if bundle.recorded_engines and "torch" not in packages:
        bundle.fail("environment.json packages", "does not say what torch is")
    for name, package in sorted(packages.items()):
        if package["status"] == "changed":
            bundle.fail(
                name, "installed files differ from their own record: %s" % short(package.get("changed"))
            )
        elif package["status"] not in ("ok", "absent"):
            bundle.leave("package %s (%s)" % (name, package["status"]))
