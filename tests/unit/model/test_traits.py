"""Traits: what a class of windows says of itself, and the rules that follow."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from windowing.model.windows.language import AttributeType
from windowing.model.windows.parsing import CLASSES, parse_window
from windowing.model.windows.traits import Ends, Order

ROOT = Path(__file__).parents[3]
ATTRIBUTES: dict[str, AttributeType] = {"ts": "time", "pos": "number"}

TUMBLING = "RANGE 1 s SLIDE 1 s WATTR ts"
LANDMARK = "RANGE LANDMARK SLIDE 1 s WATTR ts"
CUMULATE = "RANGE CUMULATE 3 s SLIDE 1 s WATTR ts"
ROWS = "RANGE 3 rows SLIDE 1 row WATTR row_num ORDER log"
RANKED = "RANGE 3 rows SLIDE 1 row WATTR row_num ORDER event_time"
BY_TUPLE = "RANGE 5 s SLIDE 1 row RATTR ts SATTR row_num"
BY_N = "RANGE 5 s SLIDE 2 rows RATTR ts SATTR row_num"
BY_RANK = "RANGE 5 s SLIDE 2 rows RATTR ts SATTR rank(ts)"
SESSIONS = "SESSION 5 s WATTR ts"
SESSIONS_OF_ROWS = "SESSION 5 rows WATTR row_num"


@pytest.mark.parametrize(
    ("text", "order", "ends"),
    [
        (TUMBLING, Order.FREE, Ends.SLIDES),
        (LANDMARK, Order.FREE, Ends.SLIDES),
        (CUMULATE, Order.FREE, Ends.SLIDES),
        (f"{CUMULATE} ZONE Asia/Tokyo".replace("3 s", "1 day"), Order.FREE, Ends.NUMBERED),
        (ROWS, Order.LANE, Ends.ROWS),
        (RANKED, Order.CANONICAL, Ends.ROWS),
        (BY_TUPLE, Order.FREE, Ends.AT_RECORDS),
        (BY_N, Order.LANE, Ends.AT_RECORDS),
        (BY_RANK, Order.CANONICAL, Ends.AT_RECORDS),
        (SESSIONS, Order.FREE, Ends.DRAWN),
        (SESSIONS_OF_ROWS, Order.LANE, Ends.DRAWN),
    ],
)
def test_order_and_ends(text: str, order: Order, ends: Ends) -> None:
    traits = parse_window(text, ATTRIBUTES).traits
    assert (traits.order, traits.ends) == (order, ends)


@pytest.mark.parametrize(
    ("trait", "having"),
    [
        ("per_key", {TUMBLING, LANDMARK, CUMULATE, SESSIONS}),
        ("revisable", {TUMBLING, LANDMARK, CUMULATE, SESSIONS, BY_TUPLE, BY_N}),
        ("shows_early", {TUMBLING, LANDMARK, CUMULATE, SESSIONS, ROWS, SESSIONS_OF_ROWS}),
        ("shows_past_silence", {TUMBLING, LANDMARK, CUMULATE, SESSIONS}),
        ("cumulative", {LANDMARK}),
        ("periodic", {CUMULATE}),
        ("merging", {SESSIONS, SESSIONS_OF_ROWS}),
        ("on_grid", {TUMBLING, LANDMARK, CUMULATE, ROWS, RANKED}),
        ("counts_arrivals", {ROWS, BY_N, SESSIONS_OF_ROWS}),
    ],
)
def test_who_has_a_trait(trait: str, having: set[str]) -> None:
    windows = [TUMBLING, LANDMARK, CUMULATE, ROWS, RANKED, BY_TUPLE, BY_N, BY_RANK]
    windows += [SESSIONS, SESSIONS_OF_ROWS]
    found = {text for text in windows if getattr(parse_window(text, ATTRIBUTES).traits, trait)}
    assert found == having


def test_rows_from_the_first_on_are_cumulative_too() -> None:
    text = "RANGE LANDMARK SLIDE 3 rows WATTR row_num"
    assert parse_window(text, ATTRIBUTES).traits.cumulative


def asked_for(source: str) -> set[str]:
    """Names of classes that a source tells things apart by, with `isinstance` or `match`."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.MatchClass):
            found.add(ast.unparse(node.cls))
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance":
            found |= {n.id for n in ast.walk(node.args[1]) if isinstance(n, ast.Name)}
    return found


def test_the_search_for_classes_finds_them() -> None:
    assert asked_for("isinstance(window, Sliding | Session)") == {"Sliding", "Session"}
    assert asked_for("match window:\n    case Session():\n        pass") == {"Session"}


def test_nobody_asks_for_a_class_of_windows() -> None:
    """What depends on a class stands in its own file, or follows from its traits."""
    names = {class_.__name__ for class_ in CLASSES}
    files = [
        path
        for room in ("windowing", "chaos", "conformance")
        for path in ROOT.glob(f"{room}/**/*.py")
        if "planted_bugs" not in path.parts  # a defect lives in a class
    ]
    assert len(files) > 200, "the search looks in the wrong place"
    guilty = {str(path): found for path in files if (found := names & asked_for(path.read_text()))}
    assert not guilty
