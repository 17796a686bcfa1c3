"""How much the laws are tried: the same examples on every run, unless a deeper search is asked for.

HYPOTHESIS_PROFILE=deep tries many more, different ones each time.
"""

import os

from hypothesis import HealthCheck, settings

_SLOW_TO_DRAW = [HealthCheck.too_slow, HealthCheck.data_too_large]

settings.register_profile(
    "ci", derandomize=True, max_examples=200, deadline=None, database=None, suppress_health_check=_SLOW_TO_DRAW
)
settings.register_profile("deep", max_examples=2000, deadline=None, suppress_health_check=_SLOW_TO_DRAW)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
