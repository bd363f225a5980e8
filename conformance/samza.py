"""Scenarios of the window operator: calls, and the expected effect of each.

A driver runs a scenario and returns the effect of every step in the format of the file. The judge
compares it with the expectation and names the first difference by step and field.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from conformance.cases import OnRefusal, Verdict, read_rows, stop
from windowing.model.emission import Early, Late, Retention
from windowing.model.flow import Deliveries, JoinFlow, KeyOrder, LaneStart, Periods, StreamFlow
from windowing.model.progress import Punctuation, Slack
from windowing.model.record import (
    Bound,
    Pair,
    Progress,
    Record,
    Refusal,
    WindowRow,
    WindowView,
)
from windowing.model.windows.rows import RowWindow
from windowing.model.windows.session import Session
from windowing.model.windows.sliding import Sliding
from windowing.model.windows.window import ROW_NUM, Window

_EVERY_US = 10_000_000
"""The default length of late epochs."""


class Scenario(BaseModel):
    """A scenario as in the file.

    Attributes:
        operator: the operator to run; `keys` only encodes keys.
        expected: `steps`, with one entry per step, and the `final` state.
        same_rows_as: a scenario with the same log and therefore the same rows.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    operator: Literal["aggregate", "session", "join", "keys"]
    tags: list[str] = []
    notes: str | list[str] | None = None
    config: dict[str, Any]
    steps: list[dict[str, Any]]
    expected: dict[str, Any]
    same_rows_as: str | None = None

    @property
    def standalone(self) -> bool:
        """Whether rows wait for `get_result` instead of being emitted."""
        return bool(self.config.get("mode") == "standalone")

    @property
    def of_the_log(self) -> bool:
        """Whether rows and final state depend on the log only, not on its division into calls."""
        late, config = self.config.get("late", {}), self.config
        by_wall = (
            config.get("early") is not None
            or late.get("clock") == "wall"
            or config.get("emit", {}).get("clock") == "wall"
        )
        calls = {"add", "batch", "timeout"}
        errors = any("error" in step for step in self.expected["steps"])
        only_calls = all(step.get("op") in calls for step in self.steps)
        return self.operator != "keys" and not (by_wall or errors or self.standalone) and only_calls

    def records(self) -> list[Record | Bound]:
        """All records of all calls, including replays."""
        return [record for step in self.steps for record in records_of(step)]


def read_scenarios(path: Path, refused: OnRefusal = stop) -> Iterator[Scenario]:
    """Read a file of scenarios; see `read_rows`."""
    refusal = "not a scenario of the window operator"
    return read_rows(path, Scenario, refusal, refused, _check)


def _check(scenario: Scenario) -> None:
    expected, found = len(scenario.steps), len(scenario.expected["steps"])
    if expected != found:
        msg = f"expected.steps has {found} entries, steps has {expected}: give one for each"
        raise ValueError(msg)
    if scenario.operator != "keys":
        setup_of(scenario)
        scenario.records()


def records_of(step: dict[str, Any]) -> list[Record | Bound]:
    """Return the records of one call."""
    listed = [step["record"]] if "record" in step else step.get("records", [])
    return [_record(record) for record in listed]


@dataclass(frozen=True)
class Setup:
    """A scenario translated to our model.

    Attributes:
        options: options that only an operator has, by the name of its parameter.
    """

    flow: StreamFlow | JoinFlow
    lanes: tuple[LaneStart, ...]
    disorder: Slack | Punctuation
    options: Mapping[str, Any]


def setup_of(scenario: Scenario) -> Setup:
    """Translate a scenario to our model."""
    config = scenario.config
    lanes = tuple(_lane(lane) for lane in config["lanes"])
    slack = config.get("slack", 0)
    disorder = Punctuation() if slack is None else Slack(slack)
    flow, options = _join(config) if scenario.operator == "join" else _stream(scenario)
    return Setup(flow, lanes, disorder, options)


def _stream(scenario: Scenario) -> tuple[StreamFlow, dict[str, Any]]:
    config, window = scenario.config, _window(scenario)
    function = config["aggregate"]
    kept = config.get("retention") or {}
    retention = Retention(time=kept.get("time"), windows=kept.get("windows"))
    early = config.get("early")
    chosen = {name: config[name] for name in ("accumulation",) if name in config}
    flow = StreamFlow(
        window=window,
        group_by=("key",) if config.get("group", True) else (),
        aggregates={"value": function if function == "count" else f"{function}(value)"},
        late=_late(config),
        retention_us=retention.length_us(window),
        entries_max=kept.get("max_entries"),
        early=early and Early.model_validate(_early(early)),
        **chosen,
    )
    late, options = config.get("late", {}), dict[str, Any]()
    if late.get("clock") == "wall":
        options["late_by"] = Periods(late.get("every", _EVERY_US), late.get("origin", 0))
    if config.get("full", "closed") == "past_end":
        options["past_end"] = True
    return flow, options


def _late(config: Mapping[str, Any]) -> Late:
    late = config.get("late", {})
    policy = late.get("policy", "update")
    if policy != "update":
        return Late(policy=policy)
    by_wall = late.get("clock") == "wall"
    return Late(policy=policy, every=_EVERY_US if by_wall else late.get("every", _EVERY_US))


def _early(early: Mapping[str, Any]) -> dict[str, Any]:
    return {"every": f"{early['every']} us"} if "every" in early else {"records": early["records"]}


def _window(scenario: Scenario) -> Window:
    window = scenario.config["window"]
    by_rows = window["unit"] == "rows"
    if scenario.operator == "session":
        gaps = tuple(window.get("gap_by_key", {}).items())
        # Two records separated by N rows of other keys are N + 1 rows apart.
        gap, attribute = (window["gap"] + 1, ROW_NUM) if by_rows else (window["gap"], "ts")
        return Session(gap, attribute, gaps=gaps)
    size, step = window["size"], window["step"]
    if by_rows:
        return RowWindow(size, step, order=window.get("order", "log"), align="start")
    return Sliding(size, step, "ts", origin=window.get("origin", 0), align="start")


def _join(config: Mapping[str, Any]) -> tuple[JoinFlow, dict[str, Any]]:
    kept = config.get("retention") or {}
    flow = JoinFlow(
        left=config["left"].get("window"),
        right=config["right"].get("window"),
        on={"key": "key"} if config.get("equality", True) else {},
        axis=config["axis"],
        late=_late(config),
        retention_us=kept.get("time"),
        entries_max=kept.get("max_entries"),
    )
    hints = ("time_range", "large_window", "keyed_store")
    order = KeyOrder(**{name: config[name] for name in hints if name in config})
    options: dict[str, Any] = {"key_order": order}
    if config.get("emit", {}).get("clock") == "wall":
        options["by_clock"] = {side: _deliveries(config[side]) for side in ("left", "right")}
    return flow, options


def _deliveries(side: Mapping[str, Any]) -> Deliveries:
    origin = side.get("origin", 0)
    return Deliveries(*(Periods(side.get(name, 0), origin) for name in ("ontime", "late")))


def _lane(lane: Mapping[str, Any]) -> LaneStart:
    source, _, partition = lane["lane"].rpartition("/")
    return LaneStart(source, int(partition), lane["start_offset"], lane.get("side"))


def _record(record: dict[str, Any]) -> Record | Bound:
    if "bound" in record:
        bound = math.inf if record["bound"] == "inf" else record["bound"]
        return Bound(record["lane"], record["offset"], bound)
    names = ("lane", "offset", "ts", "key", "value")
    return Record(**{name: record[name] for name in names})


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
    if row.overflow:
        spelling["overflow"] = ["value"]
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
