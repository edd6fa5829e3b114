"""Generated examples are the same on every run and are given time on a busy machine.

Look for new ones with `pytest tests/contract --hypothesis-profile=search`.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings

PATIENT = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow], "database": None}
settings.register_profile("search", **PATIENT, max_examples=3000)  # type: ignore[arg-type]
settings.register_profile("kit", **PATIENT, derandomize=True)  # type: ignore[arg-type]
settings.load_profile("kit")
