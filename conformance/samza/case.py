"""A conformance scenario of the window operator, and its translation to our model."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from conformance.case_lines import case_lines, first_of
from conformance.wid.case import CaseError
from windowing.model.emission import Early, Late, Retention
from windowing.model.flow import Deliveries, JoinFlow, KeyOrder, LaneStart, Periods, StreamFlow
from windowing.model.progress import Punctuation, Slack
from windowing.model.record import Bound, Record
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


def read_scenarios(path: Path) -> Iterator[Scenario]:
    """Read a file of scenarios.

    Raises:
        CaseError: a line is not a scenario; with its number.
    """
    for number, line in case_lines(path):
        try:
            scenario = Scenario.model_validate_json(line)
            if scenario.operator != "keys":
                setup_of(scenario)
        except (KeyError, TypeError, ValueError) as error:
            msg = f"{path}:{number}: not a scenario of the window operator: {first_of(error)}"
            raise CaseError(msg) from None
        yield scenario


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
