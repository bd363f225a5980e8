"""Identity faults of a stand-in for a job: what they remove, restore, and report."""

from __future__ import annotations

from pathlib import Path

from chaos.faults.fault import FaultContext
from chaos.faults.identity import SecondDriver
from jobs.runs.owner import REFUSED_FILE, Owner
from tests.unit.chaos.faults.test_identity_faults import context, job  # noqa: F401 - fixtures


def test_a_second_driver_ends_and_names_the_first(context: FaultContext, tmp_path: Path) -> None:
    """The real program, which checks the run before it needs a broker or Spark."""
    (tmp_path / "p.yml").write_text(
        "name: p\nsource: {topic: t, partitions: 1, format: json, fields: {v: int},"
        " event_time: {field: ts, unit: us}, disorder: ordered}\n"
        "queries: {q: {window: RANGE 1 s SLIDE 1 s WATTR ts, aggregates: {n: count}}}\n"
    )
    first = Owner(tmp_path)
    first.claim()
    SecondDriver().inject(context)
    first.check()
    first.release()
    (named,) = context.losses
    assert named.said is not None
    assert not named.missing
    assert (tmp_path / REFUSED_FILE).exists()
