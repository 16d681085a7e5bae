"""Hypothesis profiles: repeatable by default, long and random for `make soak`."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, Phase, settings

# No deadline: the first call of a kernel compiles it, and time limits belong to benchmarks.
settings.register_profile(
    "default", deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "soak", deadline=None, max_examples=50_000, print_blob=True, suppress_health_check=list(HealthCheck)
)
settings.register_profile("hurry", settings.get_profile("default"), phases=[Phase.generate])  # finds, does not shrink
settings.load_profile("soak" if os.environ.get("WINDROW_SOAK") else os.environ.get("WINDROW_PROFILE", "default"))
