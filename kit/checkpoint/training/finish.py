"""`python -m kit.checkpoint.training.finish DIR`: judges a run whose weights are done and whose results are missing.

Covers: a run that lost its device between its last step and its results: base and adapter are judged as `loop` would, on any
device and on as many questions as there is time for; temperatures the run has fitted stay as they are. Does not cover:
training (a run with a saved state is taken up again by `--resume`).
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer as Library

from kit.checkpoint.tokens import Tokenizer
from kit.checkpoint.training.adapter import attach, put_adapter, put_base, round_base
from kit.checkpoint.training.curve import draw
from kit.checkpoint.training.export import DECIDER, adapter_options, decider_config
from kit.checkpoint.training.journal import adapter_of, base_of, read
from kit.checkpoint.training.judged import jobs, maker
from kit.checkpoint.training.network import Decider
from kit.checkpoint.training.results import Judge
from kit.checkpoint.training.settings import Settings, changed, sized
from kit.checkpoint.training.tasks import LEVELS
from kit.evidence.records import write_json

TOKENIZER = DECIDER / "base" / "tokenizer.json"


def finish(folder: Path, settings: Settings, device: str) -> dict[str, Any]:
    """Write results.json, what the recipe says of it, and curve.png; the results.

    Raises FileNotFoundError where base, adapter, recipe or log are missing, FileExistsError where results are there already,
    ValueError for the weights of another network.
    """
    if (folder / "results.json").exists():
        raise FileExistsError(f"{folder / 'results.json'} is there already: this run is finished")
    recipe = json.loads((folder / "recipe.json").read_text(encoding="utf-8"))
    lines = read(folder)
    network, wrapped = trained(folder)
    network.to(device)
    labels = Tokenizer(Library.from_file(str(TOKENIZER)), str(TOKENIZER)).label_ids
    config = folder / "checkpoints" / "decision_config.json"
    with tempfile.TemporaryDirectory(prefix="judged-") as made:
        maker(replace(settings, workers=1), TOKENIZER, LEVELS, Path(made))(0)
        judge = Judge(network, wrapped, labels, settings, jobs(LEVELS, settings.amounts), Path(made), alive=lambda: None)
        if config.exists():
            held = json.loads(config.read_text(encoding="utf-8"))
            fitted = judge.measure(held["temperature"], held["mm_temperature"], held["threshold"])
        else:
            fitted = judge.fit()
            write_json(config, fitted.document())
        results = judge.results(fitted)
    results["too_long"] = next((line["too_long"] for line in reversed(lines) if "too_long" in line), {})
    write_json(folder / "results.json", results)
    judged = {"device": device, "amounts": asdict(settings.amounts)}
    write_json(folder / "recipe.json", {**recipe, "finished": True, "judged_afterwards": judged})
    draw(folder)
    return results


def trained(folder: Path) -> tuple[Decider, Any]:
    """A run's network with its adapter on it, and PEFT's model around it. Raises ValueError for those of another shape."""
    network = Decider(decider_config())
    put_base(network, base_of(folder), DECIDER / "base" / "config.json")
    options = adapter_options()
    round_base(network, options["target_modules"])
    wrapped = attach(network, options)
    put_adapter(wrapped, torch.load(adapter_of(folder), map_location="cpu", weights_only=True))
    return network, wrapped


def main() -> int:
    """0 when the results are written, 2 for a folder that cannot be judged."""
    parser = argparse.ArgumentParser(prog="python -m kit.checkpoint.training.finish", description=__doc__)
    parser.add_argument("folder", type=Path, metavar="DIR", help="the folder of a run that has its adapter and no results")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--step-tokens", type=int, default=4608, metavar="N", help="tokens of a batch (4608)")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=NUMBER", help="as in amounts.held_out=50")
    given = parser.parse_args()
    settings = Settings()
    try:
        settings = replace(settings, buckets=sized(settings.buckets, given.step_tokens))
        for assignment in given.set:
            settings = changed(settings, assignment)
    except ValueError as error:
        parser.error(str(error))
    try:
        results = finish(given.folder, settings, given.device)
    except (FileExistsError, FileNotFoundError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    held = results["held_out"]
    print(json.dumps({"questions": held["questions"], "accuracy": held["accuracy"]}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
