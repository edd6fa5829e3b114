"""device.json and environment.json: who was on the device, what it was, which libraries ran; all re-sealed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial

from kit.evidence.attack.deeds import assign, change, drop, together
from kit.evidence.attack.mutation import Deed, Mutation
from kit.evidence.attack.suspect import Content

NAME, AROUND = "device.json", "environment.json"


def mutations(clean: Content, chance: random.Random) -> Iterator[Mutation]:
    made = partial(Mutation, "device", sealing="resealed")
    yield made("another kind of device", change(NAME, "kind", by=lambda kind: "cuda" if kind == "cpu" else "cpu"), (NAME,))
    yield made("no kind of device", drop(NAME, "kind"), (NAME,))
    yield made("another format", assign(NAME, "format", to="kit-device/9"), (NAME,))
    for what, deed in around(clean).items():
        yield made(what, deed, (AROUND,))
    if clean.json(NAME)["kind"] == "cuda":
        for what, deed in on_gpu().items():
            yield made(what, deed, (NAME,))
    else:
        yield made("a GPU beside a CPU run", assign(NAME, "before", to={"visible": True, "name": "NVIDIA H200"}), (NAME,))


def on_gpu() -> dict[str, Deed]:
    return {
        "another process on it": assign(NAME, "after", "processes", "others", to=1),
        "memory of others on it": assign(NAME, "before", "memory", "used_bytes", to=60 << 30),
        "memory below nothing": assign(NAME, "before", "memory", "used_bytes", to=-1),
        "MIG": assign(NAME, "before", "mig", to="on"),
        "memory errors during the run": assign(NAME, "after", "ecc_uncorrected", to=2),
        "memory errors as a text": together(
            assign(NAME, "before", "ecc_uncorrected", to="none"), assign(NAME, "after", "ecc_uncorrected", to="none")
        ),
        "memory errors below nothing": together(
            assign(NAME, "before", "ecc_uncorrected", to=-7), assign(NAME, "after", "ecc_uncorrected", to=-7)
        ),
        "another device afterwards": assign(NAME, "after", "uuid_sha256", to="0" * 16),
        "another driver afterwards": assign(NAME, "after", "driver", to="1.0"),
        "another driver than the environment's": together(
            assign(NAME, "before", "driver", to="1.0"), assign(NAME, "after", "driver", to="1.0")
        ),
        "another device than the environment's": together(
            assign(NAME, "before", "name", to="NVIDIA A100"), assign(NAME, "after", "name", to="NVIDIA A100")
        ),
        "another capability than the environment's": together(
            assign(NAME, "before", "capability", to="8.0"), assign(NAME, "after", "capability", to="8.0")
        ),
        "looked at backwards": together(
            assign(NAME, "before", "taken_utc", to="2099-01-01T00:00:00.000000Z"),
        ),
        "looked at in another year": together(
            assign(NAME, "before", "taken_utc", to="2019-01-01T00:00:00.000000Z"),
            assign(NAME, "after", "taken_utc", to="2019-01-01T00:10:00.000000Z"),
        ),
        "looked at on no day": assign(NAME, "after", "taken_utc", to="zzz"),
        "not visible though a driver was named": together(
            assign(NAME, "before", to={"visible": False, "reason": "no", "taken_utc": "2026-01-01T00:00:00.000000Z"}),
            assign(NAME, "after", to={"visible": False, "reason": "no", "taken_utc": "2026-01-01T00:10:00.000000Z"}),
            assign(NAME, "verdict", "alone", to="not visible"),
        ),
        "said to be shared": assign(NAME, "verdict", "alone", to="no"),
        "problems said and none found": assign(NAME, "verdict", "problems", to=["another process"]),
        "things said to be unseen": assign(NAME, "verdict", "unseen", to=["mig"]),
        "one look less": drop(NAME, "after"),
    }


def around(clean: Content) -> dict[str, Deed]:
    packages = clean.json(AROUND)["packages"]
    checked = sorted(name for name, package in packages.items() if package["status"] == "ok")
    name = checked[0] if checked else "torch"
    return {
        "a patched torch": assign(AROUND, "packages", "torch", to={"version": "2", "status": "changed", "changed": ["x.py"]}),
        "no word of torch": drop(AROUND, "packages", "torch"),
        "torch said to be absent": assign(AROUND, "packages", "torch", to={"status": "absent"}),
        f"{name} said to be absent": assign(AROUND, "packages", name, to={"status": "absent"}),
        "a status nobody knows": assign(AROUND, "packages", "torch", "status", to="fine"),
        "a version other than installed": assign(AROUND, "packages", "torch", "version", to="0.0.1"),
        "no package": assign(AROUND, "packages", to={}),
        "TF32": assign(AROUND, "settings", "cudnn_allow_tf32", to=True),
        "more threads": assign(AROUND, "settings", "threads", to=64),
        "no settings": drop(AROUND, "settings"),
        "another format of the environment": assign(AROUND, "format", to="kit-environment/9"),
        "another kind of device in the environment": change(
            AROUND, "device", by=lambda device: {**device, "kind": "tpu"}
        ),
    }  # fmt: skip
