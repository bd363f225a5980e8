"""The live engines that can be probed, with their modes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version

from jobs.live_engines.engine import LiveEngine, RunningEngine
from jobs.live_engines.flink import flink_windows
from jobs.live_engines.local import LocalWindows
from jobs.live_engines.spark import spark_windows


class UnknownModeError(ValueError):
    """An engine, or a mode of it, that cannot be probed."""

    exit_code = 2


def _spark(mode: str, profile: str | None) -> LiveEngine:
    title = f"Spark Structured Streaming, window(), output mode {mode}"

    @contextmanager
    def opened() -> Iterator[RunningEngine]:
        with spark_windows(mode) as box:
            yield RunningEngine(box, version("pyspark"))

    return LiveEngine("spark", mode, title, profile, opened)


def _flink(mode: str, title: str) -> LiveEngine:
    @contextmanager
    def opened() -> Iterator[RunningEngine]:
        with flink_windows(mode) as box:
            yield RunningEngine(box, box.version)

    return LiveEngine("flink", mode, title, "flink-real", opened)


def _ours(mode: str, partitions: int, profile: str | None) -> LiveEngine:
    title = f"Slackwater, local engine, {partitions} partition{'s' * (partitions > 1)}"

    @contextmanager
    def opened() -> Iterator[RunningEngine]:
        yield RunningEngine(LocalWindows(partitions), version("slackwater"))

    return LiveEngine("slackwater", mode, title, profile, opened)


LIVE = (
    _spark("append", "spark-structured"),
    _spark("update", None),
    _spark("complete", None),
    _flink("tvf", "Flink SQL, HOP as a table function"),
    _flink("group", "Flink SQL, GROUP BY HOP"),
    _ours("ordered", 1, "slackwater"),
    _ours("partitions", 2, None),
)
"""Every engine and mode; an engine's first mode is its default."""


def live_engine(name: str, mode: str | None = None) -> LiveEngine:
    """Return an engine in a mode; None: its default.

    Raises:
        UnknownModeError: there is none of this name.
    """
    known = {one.mode: one for one in LIVE if one.name == name}
    if not known:
        names = ", ".join(dict.fromkeys(one.name for one in LIVE))
        msg = f"{name!r} is not a live engine that can be probed: use one of {names}"
        raise UnknownModeError(msg)
    if mode is None:
        return next(iter(known.values()))
    if mode not in known:
        msg = f"{name} has no mode {mode!r}: use one of {', '.join(known)}"
        raise UnknownModeError(msg)
    return known[mode]
