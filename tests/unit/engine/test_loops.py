"""Compiled loops: ready before they are needed, and compiled where their code cannot be kept."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import polars as pl
import pytest

from tests.unit.engine.test_roll_up import ACCUMULATORS, KEY, PIPELINE
from windowing.engine.columns import FIRST_WINDOW, LAST_WINDOW, OFFSET, PARTITION
from windowing.engine.loops import cells, instants, numbering, shapes, views
from windowing.engine.loops.compiled import compiled
from windowing.engine.loops.ready import make_ready
from windowing.engine.reading.decoders.layout import Layout
from windowing.engine.reading.decoders.members import members_of
from windowing.engine.reading.rules import ValueRules
from windowing.engine.storage.groups import Groups
from windowing.engine.tuning import tuned
from windowing.engine.windows.roll_up import rolled_up


def versions() -> dict[str, int]:
    """Count the versions of each loop: one for each combination of types of its arguments."""
    loops: list[Any] = [
        shapes.read,
        views.view,
        instants.read_iso,
        instants.read_numbers,
        instants.read_written,
        numbering.number,
        cells.cumulate,
        cells.list_held,
    ]
    return {loop.__name__: len(loop.signatures) for loop in loops}


@pytest.fixture
def always_compiled() -> Iterator[None]:
    with tuned(compiled_from_rows=0):
        yield


@pytest.mark.usefixtures("always_compiled")
def test_what_the_engine_calls_is_ready() -> None:
    make_ready()
    ready = versions()
    assert all(ready.values())

    values = [json.dumps({"ts": n, "k": "a", "v": 1, "x": 0.5}).encode() for n in range(9)]
    members = members_of(values[0], ValueRules.of(PIPELINE))
    assert members is not None
    read = Layout(members).read(pl.Series(values))
    assert read is not None
    assert read[1].all()
    slices = pl.DataFrame(
        {KEY: ["a", "a", "b"], PARTITION: 0, FIRST_WINDOW: [0, 1, 1], LAST_WINDOW: [1, 2, 2]}
    )
    records = (
        read[0]
        .head(3)
        .select(pl.int_range(pl.len()).alias(OFFSET), pl.col("=v"), pl.col("=x").cast(pl.Float64))
    )
    assert Groups.by(slices, [KEY, FIRST_WINDOW]).count == 3
    lifted = pl.DataFrame([*slices, *ACCUMULATORS.lift(records)])
    assert rolled_up(ACCUMULATORS, lifted, [KEY]) is not None

    assert versions() == ready


def test_a_loop_is_compiled_where_its_code_cannot_be_kept() -> None:
    space: dict[str, Any] = {}
    # Numba keeps no code of functions without a file.
    exec("def doubled(number):\n    return 2 * number", space)  # noqa: S102
    assert compiled(space["doubled"])(21) == 42
