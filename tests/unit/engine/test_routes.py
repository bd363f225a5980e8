"""Which shard a record goes to: the one that knows all that was promised for the keys it closes."""

from __future__ import annotations

import pytest

from tests.strategies import entry
from windowing.engine.reading.batches import batches
from windowing.model import parse_pipeline
from windowing.model.rows import row_lines
from windowing.runtime.local import run
from windowing.semantics import evaluate

TWO_ATTRIBUTES = """
name: two
source:
  topic: s
  partitions: 1
  format: json
  event_time: {{field: ts, unit: us}}
  fields: {{g: string, h: int, seq: int}}
  disorder: {disorder}
  disorder_of: {{seq: {disorder_of}}}
shards: 4
queries:
  q:
    window: {window}
    group_by: {group_by}
    aggregates: {{n: count}}
"""


@pytest.mark.parametrize("window", ["RANGE 5 SLIDE 5 WATTR seq", "SESSION 2 WATTR seq"])
@pytest.mark.parametrize(
    ("disorder", "disorder_of", "group_by"),
    [
        ("{ordered_per: g}", "ordered", "[]"),
        ("{punctuation: {attr: g}}", "{slack: 1}", "[h]"),
        ("ordered", "{ordered_per: g}", "[g, h]"),
    ],
)
def test_each_attribute_has_its_own_promises(
    window: str, disorder: str, disorder_of: str, group_by: str
) -> None:
    """Progress per key by one attribute says nothing of windows over the other."""
    text = TWO_ATTRIBUTES.format(
        window=window, disorder=disorder, disorder_of=disorder_of, group_by=group_by
    )
    pipeline = parse_pipeline(text)
    log = [
        entry(
            {
                "source": "s",
                "partition": 0,
                "offset": n,
                "value": {"ts": n, "seq": n, "g": "abc"[n % 3], "h": n % 2},
            }
        )
        for n in range(24)
    ]
    rows = run(pipeline, batches(log, 5)).rows
    wanted = row_lines(evaluate(pipeline, log).rows)
    assert wanted
    assert [*row_lines(rows)] == [*wanted]
