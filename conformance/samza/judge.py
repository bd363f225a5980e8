"""Conformance to the window operator: scenarios of calls, and the expected effect of each.

A driver runs a scenario and returns the effect of every step in the format of the file. The judge
compares it with the expectation and names the first difference by step and field. Whether operators
or the definition computed it is up to the caller.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from conformance.samza.case import Scenario
from conformance.wid.judge import Verdict
from windowing.model.record import (
    Pair,
    Progress,
    Record,
    Refusal,
    WindowRow,
    WindowView,
)

Effects = Mapping[str, Any]
"""`steps` and `final`, as under `expected`."""

Drive = Callable[[Scenario], Effects]
"""Runs a scenario."""


def judge(
    scenario: Scenario, drive: Drive, judged_by: str, same_as: Scenario | None = None
) -> Verdict:
    """Compare a driver's result with the expectation, step by step.

    The scenario `same_as` must give the same rows.
    """
    found = drive(scenario)
    difference = _first_difference(scenario, found)
    if difference is None and scenario.same_rows_as is not None:
        if same_as is None:
            difference = f"same_rows_as: there is no scenario {scenario.same_rows_as}"
        elif rows_of(found) != rows_of(same_as.expected):
            difference = f"same_rows_as: other rows than {same_as.id}"
    return Verdict(scenario.id, judged_by, difference)


def judge_cut(scenario: Scenario, drive: Drive, judged_by: str, seed: int) -> Verdict:
    """Check that a different division into calls gives the same rows, order and final state."""
    found = drive(recut(scenario, seed))
    for part, wanted, got in (
        ("rows", rows_of(scenario.expected), rows_of(found)),
        ("final", scenario.expected["final"], found["final"]),
    ):
        if spelled(wanted) != spelled(got):
            difference = f"cut {seed}: {part}: expected {spelled(wanted)}, found {spelled(got)}"
            return Verdict(scenario.id, judged_by, difference)
    return Verdict(scenario.id, judged_by, None)


def recut(scenario: Scenario, seed: int) -> Scenario:
    """Return the scenario with the same records in different calls."""
    records = [r for step in scenario.steps for r in step.get("records", [step.get("record")]) if r]
    chance = random.Random(seed)
    steps: list[dict[str, Any]] = []
    while records:
        size = chance.randint(1, max(1, len(records) // 2))
        steps.append({"op": "batch", "wall": len(steps), "records": records[:size]})
        records = records[size:]
    return scenario.model_copy(update={"steps": steps})


def rows_of(effects: Effects) -> list[Any]:
    """Return all rows that a scenario emits, in order."""
    return [row for step in effects["steps"] for row in step.get("out", [])]


def spelled(value: Any) -> str:
    """Return a value as JSON, in which 3 and 3.0 differ, with the fields of objects sorted."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _first_difference(scenario: Scenario, found: Effects) -> str | None:
    expected = scenario.expected
    if len(expected["steps"]) != len(found["steps"]):
        return f"steps: expected {len(expected['steps'])}, found {len(found['steps'])}"
    for number, (wanted, got) in enumerate(zip(expected["steps"], found["steps"], strict=True)):
        difference = _difference(wanted, got)
        if difference is not None:
            return f"step {number}, {difference}"
    difference = _difference(expected.get("final", {}), found.get("final", {}))
    return None if difference is None else f"final, {difference}"


def _difference(wanted: Mapping[str, Any], got: Mapping[str, Any]) -> str | None:
    for name in sorted({*wanted, *got}):
        # An absent field is empty or zero; a null result is present.
        one, other = wanted.get(name), got.get(name)
        if name != "result":
            one, other = one or None, other or None
        if spelled(one) != spelled(other):
            return f"{name}: expected {spelled(one)}, found {spelled(other)}"
    return None


def spell_rows(rows: Iterable[WindowRow | Pair]) -> list[dict[str, Any]]:
    """Return rows in the format of the file."""
    return [spell_pair(row) if isinstance(row, Pair) else spell_row(row) for row in rows]


def spell_row(row: WindowRow) -> dict[str, Any]:
    """Return a row of a window or session."""
    spelling: dict[str, Any] = {
        "window": [row.start, row.end],
        "key": row.key,
        "pane": row.pane,
        "revision": row.revision,
        "records": row.records,
        "value": row.value,
        "offsets": {lane: list(offsets) for lane, offsets in row.offsets.items()},
    }
    if row.retracts:
        spelling["op"] = "retract"
    if row.absorbed_by is not None:
        spelling |= {"tombstone": True, "absorbed_by": row.absorbed_by}
    return spelling


def spell_pair(pair: Pair) -> dict[str, Any]:
    """Return a row of a join."""
    sides = {"left": pair.left, "right": pair.right}
    spelled = {name: one and spell_record(one) for name, one in sides.items()}
    return {"op": "retract", **spelled} if pair.retracts else spelled


def spell_record(record: Record) -> dict[str, Any]:
    """Return a record."""
    return {name: getattr(record, name) for name in ("lane", "offset", "ts", "key", "value")}


def spell_windows(views: Sequence[WindowView]) -> list[dict[str, Any]]:
    """Return stored windows; sessions have no `pending`."""
    spelling = []
    for view in views:
        entry: dict[str, Any] = {"window": [view.start, view.end], "key": view.key}
        entry["records"] = view.records
        if view.pending is not None:
            entry["pending"] = view.pending
        entry["value"] = view.value
        entry["offsets"] = {lane: list(offsets) for lane, offsets in view.offsets.items()}
        spelling.append(entry)
    return spelling


def spell_refusals(dead: Iterable[Refusal]) -> list[dict[str, Any]]:
    """Return dead letters."""
    return [{"lane": d.lane, "offset": d.offset, "reason": d.reason} for d in dead]


def spell_progress(progress: Progress) -> int | str | None:
    """Return an instant; null: nothing yet; inf: ended."""
    if math.isinf(progress):
        return "inf" if progress > 0 else None
    return int(progress)
