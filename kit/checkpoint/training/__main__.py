"""`python -m kit.checkpoint.training --out DIR`: trains the decider, calibrates it and judges it.

Covers: the command line. Does not cover: the run (`loop`).
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from pathlib import Path

from kit.checkpoint.training.settings import TINY, Settings, changed, sized


def main() -> int:
    """0 when the run is finished, 1 when training failed, 2 for what cannot be run, 3 when a signal stopped it, its state saved."""
    parser = argparse.ArgumentParser(prog="python -m kit.checkpoint.training", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder of the run")
    parser.add_argument("--seconds", type=float, help="wall time for everything (1300)")
    parser.add_argument("--steps", type=int, help="steps of each phase at most")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--workers", type=int, help="processes that make batches (20)")
    parser.add_argument("--seed", type=int, help="of weights and samples (1); with --from another than the earlier run's")
    parser.add_argument("--resume", action="store_true", help="go on from the state in the folder, after a stop")
    parser.add_argument("--from", dest="start", type=Path, metavar="DIR", help="begin with the base of the earlier run in that folder")
    parser.add_argument(
        "--keep-base", action="store_true", help="leave that base as it is, and go on with the adapter of that run"
    )
    parser.add_argument("--step-tokens", type=int, metavar="N", help="tokens of a batch (36864): fewer take less memory")
    parser.add_argument(
        "--tiny", action="store_true", help="a few steps of small batches, to see that everything works"
    )
    parser.add_argument("--config", type=Path, help="another config.json than the decider's")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=NUMBER", help="another setting, as in base.hint=1.0"
    )
    given = parser.parse_args()
    named = ("seconds", "steps", "workers", "seed")
    chosen = {name: getattr(given, name) for name in named if getattr(given, name) is not None}
    settings = dataclasses.replace(TINY if given.tiny else Settings(), **chosen)
    try:
        if given.step_tokens is not None:
            settings = dataclasses.replace(settings, buckets=sized(settings.buckets, given.step_tokens))
        for assignment in given.set:
            settings = changed(settings, assignment)
    except ValueError as error:
        parser.error(str(error))

    from kit.checkpoint.training.batches import WorkerError
    from kit.checkpoint.training.loop import Options, StoppedError, train
    from kit.checkpoint.training.phase import TrainingError
    from kit.runtime import NoDeviceError

    try:
        options = Options(
            given.out, settings, given.device, resume=given.resume, start=given.start, keep_base=given.keep_base
        )
        if given.config is not None:
            options = dataclasses.replace(options, config=given.config)
        train(options)
    except StoppedError as stopped:
        print(stopped, file=sys.stderr)
        return 3
    except (TrainingError, WorkerError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except (FileExistsError, FileNotFoundError, NoDeviceError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
