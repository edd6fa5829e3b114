"""Stage 09's work: performance.json of a run, measured on purpose where the run has a GPU.

Covers: which profiles are measured (`measures_device`), and putting the campaign's own latencies, the measured
rows, floors, profile and targets into one document, with the samples in a file of their own.
Does not cover: measuring (`kit.campaign.performance.session`), the light form alone (`kit.campaign.bench`).
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from kit.campaign.bench import performance_from_records
from kit.campaign.performance.document import FILE, measured_rows, samples_document
from kit.campaign.performance.plan import Settings
from kit.campaign.performance.targets import targets
from kit.evidence.records import write_json

if TYPE_CHECKING:
    from kit.campaign.performance.plan import Measured
    from kit.campaign.stage import Stage
    from kit.profile import Profile

MEASURED_ENGINES = frozenset({"reference", "native", "graph"})
METHOD = (
    "interleaved blocks, forwards and backwards; a unit runs from a prepared request on the host to its label logits "
    "on the host; intervals: 95%, whole blocks resampled; HTTP: workers in the same process, one client"
)


def measures_device(profile: Profile) -> bool:
    """On CUDA, with a reference to share its weights and both native engines; others show the records' latencies."""
    return profile.runtime.device == "cuda" and MEASURED_ENGINES.issubset(profile.campaign.engines)


def performance(stage: Stage, *, budget_s: float, blocks: int) -> dict[str, Any]:
    """performance.json of the run; for a measured profile also writes the samples. budget_s: all measuring, loading
    included."""
    started = time.perf_counter()
    document = performance_from_records(stage.path)
    if not measures_device(stage.run.profile):
        return document
    stage.configure()
    from kit.campaign.performance import session
    from kit.checkpoint import locate

    found = session.run(stage.run.profile, Settings(budget_s=budget_s, blocks=blocks), started)
    samples = samples_document(found, locate(stage.run.profile).calibration)
    write_json(stage.path / FILE, samples)
    return with_measured(document, samples, found)


def with_measured(document: dict[str, Any], samples: dict[str, Any], found: Measured) -> dict[str, Any]:
    """The records' document with everything that was measured on purpose."""
    rows = measured_rows(samples)
    measured = {
        "method": METHOD,
        **found.facts,
        "seconds": found.seconds,
        "not_measured": found.not_measured,
        "targets": targets(rows, samples["weight_bytes"]),
    }
    return document | {"rows": [*rows, *document["rows"]], "measured": measured}
