"""What `explain` says of many queries."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobs.tools.slides_picture import draw_slides
from windowing.engine.plan import plan_of
from windowing.explain.pipeline import UnknownQuery, explain, explain_one
from windowing.model import parse_pipeline

HEAD = """
name: p
source: {topic: s, partitions: 2, format: json, event_time: {field: ts, unit: us},
  fields: {k: string, v: int}, disorder: {slack: 2 hours}}
shards: 1
queries:
"""


def query(name: str, hours: int, more: str = "") -> str:
    window = f"RANGE {2 * hours} hours SLIDE {hours} hours WATTR ts"
    return f"  {name}: {{window: {window}, group_by: [k], aggregates: {{n: count}}{more}}}\n"


MANY = HEAD + "".join(query(f"q{n:02}", (2, 3, 4, 6)[n % 4]) for n in range(40))


def test_what_is_shared_and_its_bound() -> None:
    alone = query("odd", 1, ", late: {policy: drop}") + query("seen", 2, ", early: {records: 5}")
    lines = list(explain(plan_of(parse_pipeline(MANY + alone))))
    # Windows of 12 hours and a slack of 2, cut every 2 and every 3 hours: 14 / 2 + 14 / 3.
    assert "40 queries in 1 family share slices; about 13 slices per key and lane in all" in lines
    assert "  not shared: odd: fewer than 32 have its key, late policy and retention" in lines
    assert "  not shared: seen: its open windows are shown" in lines
    start = lines.index("  sliding graph of 4 distinct slides")
    assert lines[start + 1 : start + 6] == [
        "    1 h (no query: the common divisor)",
        "    ├─ 2 h (10 queries)",
        "    │  └─ 4 h (10 queries)",
        "    └─ 3 h (10 queries)",
        "       └─ 6 h (10 queries)",
    ]


def test_one_of_many() -> None:
    plan = plan_of(parse_pipeline(MANY))
    lines = list(explain_one(plan, "q05"))
    assert lines[0].startswith("q05: sliding over ts, range 6 h, slide 3 h")
    assert lines[-1] == "  shares slices with 39 others: shared:q00"
    with pytest.raises(UnknownQuery, match="no query is called 'q99': the pipeline has q00, q01"):
        list(explain_one(plan, "q99"))


def test_thousands_that_share_nothing_are_not_all_listed() -> None:
    text = HEAD + "".join(query(f"q{n}", 1, ", early: {records: 5}") for n in range(120))
    lines = list(explain(plan_of(parse_pipeline(text))))
    assert lines[-1] == "… and 20 queries more: --query NAME explains one"


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_the_sliding_graph_is_drawn(ending: str, tmp_path: Path) -> None:
    pipeline, path = parse_pipeline(MANY), tmp_path / f"slides.{ending}"
    draw_slides(pipeline, plan_of(pipeline).families, path)
    assert path.read_bytes().startswith({"png": b"\x89PNG", "svg": b"<?xml"}[ending])
