"""Slots: Spark's own hash sends them where we say, and to each task as many as to any other."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from jobs.checkpoints.stages import decide_fused, is_fused, note_fused
from tests.spark.test_storage import CASE
from windowing.model import load_pipeline
from windowing.spark.storage.slots import PERIOD, number_of, slot_of, spark_hash

DIVISORS = [tasks for tasks in range(1, 65) if PERIOD % tasks == 0]


@given(st.integers(0, 41_000_000))
def test_a_slot_names_its_number(number: int) -> None:
    assert number_of(slot_of(number)) == number
    assert 0 <= slot_of(number) < 2**31


@given(st.integers(1, 500), st.sampled_from(DIVISORS))
def test_every_task_gets_as_many_as_any_other(count: int, tasks: int) -> None:
    slots = np.array([slot_of(number) for number in range(count)])
    found = Counter((spark_hash(slots) % tasks).tolist())
    assert max(found.values()) - min(found[task] for task in range(tasks)) <= 1


def test_slots_stay_what_they_are() -> None:
    """They stand in checkpoints."""
    slots = [slot_of(number) for number in (0, 1, 2, 7, PERIOD)]
    assert slots == [
        22362,
        53720,
        6234,
        50280,
        1052440,
    ]


def test_a_run_keeps_the_layout_that_it_began_with(tmp_path: Path) -> None:
    pipeline = load_pipeline(CASE / "pipeline.yml")
    fresh, begun = tmp_path / "fresh" / "checkpoint", tmp_path / "begun" / "checkpoint"
    for folder in (fresh, begun):
        folder.mkdir(parents=True)
    assert decide_fused(fresh, pipeline)
    assert is_fused(fresh)
    note_fused(begun, fused=False)
    assert not decide_fused(begun, pipeline)
