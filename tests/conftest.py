"""Settings that every test shares: how hard Hypothesis tries, by HYPOTHESIS_PROFILE."""

import gc
import os
import secrets
import sys

# Frames of tests are small: threads of polars would be in each other's way. It asks once, when it
# is loaded.
os.environ.setdefault("POLARS_MAX_THREADS", "1")
# One job at a time on the clusters that tests start.
os.environ.setdefault("SLACKWATER_PIPELINES_AT_ONCE", "1")
# The JVMs of tests live for a minute, too short for the second compiler to pay off.
os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

from hypothesis import HealthCheck, settings

# A worker of pytest-xdist has a main module without a file, which pyspark takes for its doctests.
vars(sys.modules["__main__"]).setdefault("__file__", __file__)

SEED_VARIABLE = "SLACKWATER_FRESH_SEED"
"""Of the simulated runs that nobody has drawn before; give it to have the same ones again."""
os.environ.setdefault(SEED_VARIABLE, str(secrets.randbelow(10**9)))


def pytest_report_header() -> str:
    """Tell the seed."""
    return f"simulated runs of a fresh seed: {SEED_VARIABLE}={os.environ[SEED_VARIABLE]}"


def pytest_collection_finish() -> None:
    """Leave alone what is loaded by now: to look through it took a tenth of the tests' time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 100)


_QUIET = {
    "deadline": None,  # two busy cores: wall-clock limits say nothing about the code
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
}

settings.register_profile("dev", max_examples=5, **_QUIET)
settings.register_profile("ci", max_examples=5, derandomize=True, **_QUIET)
settings.register_profile("nightly", max_examples=1_000, **_QUIET)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))
