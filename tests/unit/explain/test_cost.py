"""What a query adds to the state of a pipeline, in words."""

from __future__ import annotations

import pytest

from tests.unit.engine.families.test_families import ALIKE, HEAD, LATER, QUERY
from windowing.engine.plan import plan_of
from windowing.engine.tuning import tuned
from windowing.explain.pipeline import UnknownQuery, cost
from windowing.model import parse_pipeline

with tuned(share_from_queries=2):
    PLAN = plan_of(
        parse_pipeline(
            HEAD + ALIKE + QUERY.format("in_step", 50, LATER) + QUERY.format("own", 15, LATER)
        )
    )


def test_a_query_that_shares_has_no_state_of_its_own() -> None:
    assert cost(PLAN, "in_step").startswith("shares slices with 3 others")


def test_any_other_has() -> None:
    # Windows of 15 us every 10 us, 5 us of slack: two slices per slide, of two slides and one more.
    summary, (each, states) = cost(PLAN, "own"), (56, 6)
    assert summary.startswith(f"has slices of its own: about {each} bytes a partial state")
    assert f"about {each * states} bytes per key" in summary


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(UnknownQuery):
        cost(PLAN, "nobody")
