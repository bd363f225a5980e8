"""Check that the state, not only the rows, equals that of a clean run."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from chaos.verdict.check import Check, FinishedRun, Outcome, check

State = Mapping[tuple[str, str], list[Any]]
"""Rows by part (a lane or a shard) and table."""

States = Callable[[], Mapping[str, State]]
"""Reads the states `judged` and `clean`; raises StateError if one cannot be read."""


class StateError(RuntimeError):
    """A clean run that did not finish, or a state that cannot be read."""

    exit_code = 1


def _can_be_compared(run: FinishedRun) -> bool:
    """Whether the log still has every record that a clean run would read."""
    return run.states is not None or not run.taken


@check("state", order=3, when=_can_be_compared, takes_s=30)
def same_state(states: States | None) -> Check:
    """Check that lanes and shards keep the same state at the end of the log as in a clean run."""
    if states is None:
        detail = "the run did not take in all of its log: nothing to compare"
        return Check("state", Outcome.unknown, detail)
    try:
        read = states()
    except StateError as error:
        return Check("state", Outcome.unknown, f"nothing to compare with: {error}")
    return compare_states(read["judged"], read["clean"])


def compare_states(found: State, wanted: State) -> Check:
    """Compare every table of every lane and shard.

    Args:
        found: the state of the judged run.
        wanted: the state of the clean run.
    """
    rows = sum(len(table) for table in wanted.values())
    if rows == 0:
        return Check("state", Outcome.unknown, "the clean run keeps nothing: nothing shown")
    wrong = [place for place in sorted({*found, *wanted}) if found.get(place) != wanted.get(place)]
    parts = len({part for part, _ in wanted})
    detail = f"{rows} rows of state in {parts} lanes and shards, {len(wrong)} tables differ"
    outcome = Outcome.failed if wrong else Outcome.passed
    return Check("state", outcome, detail, tuple(_shown(found, wanted, wrong[0])) if wrong else ())


def _shown(found: State, wanted: State, place: tuple[str, str]) -> list[str]:
    """Show the first differing row of a table in both states."""
    left, right = found.get(place, []), wanted.get(place, [])
    longest = max(len(left), len(right))
    at = next(n for n in range(longest) if left[n : n + 1] != right[n : n + 1])
    return [
        f"{place[0]}, table {place[1]}: {len(left)} rows, clean {len(right)}, first in row {at}",
        f"  faulted: {json.dumps(left[at : at + 1])}",
        f"  clean:   {json.dumps(right[at : at + 1])}",
    ]
