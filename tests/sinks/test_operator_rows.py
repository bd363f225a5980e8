"""Rows of operators in tables, without Spark: whatever a query sends is written, and verified."""

from __future__ import annotations

import random

import pytest

from tests.engine.rows.test_hosted import STEPS, drawn_log, interleaved, pipeline
from tests.sinks.test_table_sink import written
from tests.strategies.logs import entry
from windowing.engine.input.batches import batches
from windowing.runtime.local import LocalEngine


@pytest.mark.parametrize("order", ["canonical", "lane"])
@pytest.mark.parametrize("name", STEPS)
def test_what_operators_send_is_written_with_one_schema(name: str, order: str) -> None:
    spec, case = pipeline(STEPS[name], order), drawn_log(7, 80)
    log = [entry(event) for event in interleaved(case, random.Random(7))]
    written(spec, log, 7)
    engine, schemas = LocalEngine(spec), list[object]()
    for batch in batches(log, 7, spec):
        for emission in engine.feed(batch):
            schemas += [list(frame.schema.items()) for frame in emission.results.values()]
    assert schemas
    assert all(schema == schemas[0] for schema in schemas)
