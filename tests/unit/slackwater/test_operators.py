"""What the commands say of operators over policy windows."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from slackwater.main import app
from tests.unit.model.test_operators import COUNTED, SOURCE
from windowing.engine.rows.operators import OperatorError
from windowing.model.operators.models import (
    aggregate_windows,
    check_aggregate,
    check_dedup,
    check_join_window,
    check_sort,
    dedup_windows,
    join_windows,
    sort_windows,
)
from windowing.model.windows.policy import Count, Delta, Profile, Punct, Time, WindowClause


def said(*arguments: str) -> str:
    found = CliRunner().invoke(app, [*arguments])
    assert found.exit_code == 0, found.output
    return found.output


@pytest.mark.parametrize(("clock", "warned"), [("record", False), ("wall", True)])
def test_validate_says_what_is_outside_the_promise(
    tmp_path: Path, clock: str, warned: bool
) -> None:
    file = tmp_path / "p.yml"
    option = f", clock: {clock}"
    file.write_text(f"{SOURCE}  q0: {COUNTED % option}\n")
    found = said("validate", str(file))
    assert "pipeline p with 1 query is valid" in found
    assert ("query q0 is outside the promise" in found) == warned


@pytest.mark.parametrize(
    ("options", "counts"),
    [
        ((), {"Aggregate": 52, "Join": 90, "Sort": 28, "Dedup": 12, "a user's": 52}),
        (("--osstreams",), {"Aggregate": 52, "Join": 90, "Sort": 20, "Dedup": 12, "a user's": 52}),
    ],
)
def test_operators_are_listed_with_counts_and_arithmetic(
    options: tuple[str, ...], counts: dict[str, int]
) -> None:
    lines = said("operators", *options).splitlines()
    for name, count in counts.items():
        line = next(line for line in lines if line.startswith(f"{name} "))
        assert line.removeprefix(name).split()[0] == str(count)
    assert "44 = 11 x 4" in " ".join(lines)


def test_partitions_that_are_kept_are_a_fifth_choice() -> None:
    """By `spl.md` 10.4: 65, 9 x 17 and 35."""
    fifth = "Aggregate 65, Join 153, Sort 35, Dedup 15, a user's 65."
    assert fifth in said("operators").splitlines()


_POLICIES = (Count(1), Count(2), Delta("x", 1), Time(1), Punct())


def _every_window() -> list[WindowClause]:
    tumbling = [WindowClause("tumbling", eviction) for eviction in _POLICIES]
    pairs = [(eviction, trigger) for eviction in _POLICIES for trigger in _POLICIES]
    return [*tumbling, *(WindowClause("sliding", *pair) for pair in pairs)]


def _accepted(check: object, *more: object) -> set[WindowClause]:
    found = set()
    for window in _every_window():
        try:
            check(window, *more)  # type: ignore[operator]
        except OperatorError:
            continue
        found.add(window)
    return found


def test_the_models_accept_what_is_listed_and_nothing_else() -> None:
    """With `Count(2)`, which the lists leave out, wherever a size is free."""
    sizes = {Count(1), Count(2)}

    def listed(windows: set[WindowClause], *, trigger: bool) -> set[WindowClause]:
        plain = {window for window in windows if not window.partition_by}
        twice = {WindowClause(w.kind, Count(2), w.trigger) for w in plain if w.eviction in sizes}
        plain |= twice
        if trigger:
            plain |= {
                WindowClause(w.kind, w.eviction, Count(2)) for w in plain if w.trigger in sizes
            }
        return plain

    aggregate = listed({*aggregate_windows()}, trigger=True)
    assert _accepted(check_aggregate, None, None) == aggregate
    sort = listed({*sort_windows(Profile.paper)}, trigger=False)
    assert _accepted(check_sort, ["x"], ["ascending"], Profile.paper) == sort
    assert _accepted(check_dedup, ["x"]) == listed({*dedup_windows()}, trigger=False)
    sides = {side for sides in join_windows() for side in sides}
    assert _accepted(check_join_window, "left") == listed(sides, trigger=False)
