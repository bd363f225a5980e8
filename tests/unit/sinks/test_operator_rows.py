"""Rows of operators in tables, without Spark: whatever a query sends is written, and verified."""

from __future__ import annotations

import random

import pytest

from tests.strategies.logs import entry
from tests.unit.engine.rows.test_hosted import all_steps, drawn_log, interleaved
from tests.unit.sinks.test_table_sink import written
from windowing.engine.input.batches import batches
from windowing.runtime.local import LocalEngine


@pytest.mark.parametrize("order", ["canonical", "lane"])
def test_what_operators_send_is_written_with_one_schema_each(order: str) -> None:
    spec = all_steps(order)
    log = [entry(event) for event in interleaved(drawn_log(7, 80), random.Random(7))]
    written(spec, log, 30)
    engine, schemas = LocalEngine(spec), dict[str, object]()
    for batch in batches(log, 20, spec):
        for emission in engine.feed(batch):
            for query, frame in emission.results.items():
                schema = list(frame.schema.items())
                assert schemas.setdefault(query, schema) == schema
    assert schemas.keys() == {query.name for query in spec.operators}
