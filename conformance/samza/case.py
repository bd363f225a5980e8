"""A scenario of the window operator's conformance, and what it asks in our own terms."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from conformance.case_lines import case_lines, first_of
from conformance.wid.case import CaseError
from windowing.model.operator import AggregatorSpec, JoinSpec
from windowing.model.record import Bound, Record

Json = Any
"""What stands in a JSON document."""


class Scenario(BaseModel):
    """One scenario as it stands in the file.

    Attributes:
        id: a unique name.
        operator: what is driven; `keys` encodes keys and drives nothing.
        tags, notes: for people.
        config: of the operator.
        steps: calls, in order.
        expected: `steps`, one entry for each, and the `final` state.
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
        """Whether rows wait for `get_result` instead of being sent."""
        return bool(self.config.get("mode") == "standalone")

    @property
    def of_the_log(self) -> bool:
        """Whether rows and final state are a function of the log, however it is cut into calls."""
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
        """All records of all calls, replays too."""
        return [record for step in self.steps for record in records_of(step)]


def read_scenarios(path: Path) -> Iterator[Scenario]:
    """Read a file of scenarios.

    Raises:
        CaseError: a line is no scenario, with its number.
    """
    for number, line in case_lines(path):
        try:
            scenario = Scenario.model_validate_json(line)
            if scenario.operator != "keys":
                spec_of(scenario)
        except (KeyError, TypeError, ValueError) as error:
            msg = f"{path}:{number}: not a scenario of the window operator: {first_of(error)}"
            raise CaseError(msg) from None
        yield scenario


def records_of(step: dict[str, Any]) -> list[Record | Bound]:
    """The records of one call."""
    listed = [step["record"]] if "record" in step else step.get("records", [])
    return [_record(record) for record in listed]


def spec_of(scenario: Scenario) -> AggregatorSpec | JoinSpec:
    """The operator that a scenario drives."""
    config = scenario.config
    common: dict[str, Any] = {
        "lanes": [_lane(lane) for lane in config["lanes"]],
        "slack": config.get("slack", 0),
        "late": config.get("late", {}),
        "retention": config.get("retention") or {},
    }
    if scenario.operator == "join":
        rest: dict[str, Any] = {
            name: config[name]
            for name in ("axis", "left", "right", "equality", "time_range", "large_window")
            if name in config
        }
        keyed = {"keyed_store": config["keyed_store"]} if "keyed_store" in config else {}
        clock = config.get("emit", {"clock": "progress"})["clock"]
        return JoinSpec.model_validate({**common, **rest, **keyed, "clock": clock})
    chosen: dict[str, Any] = {
        name: config[name] for name in ("early", "accumulation", "group") if name in config
    }
    own = {"aggregate": config["aggregate"], "windows": _windows(scenario)}
    return AggregatorSpec.model_validate({**common, **chosen, **own})


def _windows(scenario: Scenario) -> dict[str, Any]:
    window = dict(scenario.config["window"])
    by_rows = window.pop("unit") == "rows"
    if scenario.operator == "session":
        return {"foreign": window["gap"]} if by_rows else window
    if by_rows:
        return {"order": "log", "full": scenario.config.get("full", "closed"), **window}
    return window


def _lane(lane: dict[str, Any]) -> dict[str, Any]:
    source, _, partition = lane["lane"].rpartition("/")
    named = {"source": source, "partition": int(partition), "start_offset": lane["start_offset"]}
    return {**named, "side": lane.get("side")}


def _record(record: dict[str, Any]) -> Record | Bound:
    if "bound" in record:
        bound = math.inf if record["bound"] == "inf" else record["bound"]
        return Bound(record["lane"], record["offset"], bound)
    names = ("lane", "offset", "ts", "key", "value")
    return Record(**{name: record[name] for name in names})
