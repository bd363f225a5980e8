"""Run scenarios of the window operator on our operators.

Every scenario is run as given, and again with the operator rebuilt from its store and snapshot
between any two steps. If its rows depend on the log only, it is also divided into other calls.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from conformance import samza
from conformance.cases import Driver, Verdict
from conformance.samza import Scenario, records_of, setup_of
from windowing.engine.rows.flows import keys
from windowing.engine.storage.state import MemoryStore
from windowing.model.flow import StreamFlow
from windowing.model.record import Pair, WindowRow
from windowing.runtime.standalone import ANY, CallRefused, WindowedAggregator, WindowJoin
from windowing.runtime.standalone.errors import DenseOffsetGap, NoMessageStore

_CUTS = 3


def standalone(scenarios: Mapping[str, Scenario]) -> Driver[Scenario]:
    """Return our operators; scenarios of one file may have to give the same rows."""
    return Driver("operators", lambda scenario: [judge(scenario, scenarios)])


def judge(scenario: Scenario, others: Mapping[str, Scenario]) -> Verdict:
    """Run a scenario in every equivalent way; return the first verdict with a difference."""
    same_as = others.get(scenario.same_rows_as or "")
    if scenario.operator == "keys":
        return samza.judge(scenario, encode_keys, "operators")
    rebuilding = partial(drive, rebuild=True)
    verdicts = [
        samza.judge(scenario, drive, "operators", same_as),
        samza.judge(scenario, rebuilding, "operators, rebuilt between steps", same_as),
    ]
    if scenario.of_the_log:
        verdicts += [samza.judge_cut(scenario, drive, "operators", seed) for seed in range(_CUTS)]
    return next((v for v in verdicts if v.difference is not None), verdicts[0])


def drive(scenario: Scenario, *, rebuild: bool = False) -> samza.Effects:
    """Run a scenario with one operator, or with another one for every step."""
    driver = _Driver(scenario)
    steps = []
    for step in scenario.steps:
        steps.append(driver.step(step))
        if rebuild:
            driver.rebuild()
    return {"steps": steps, "final": driver.final()}


def encode_keys(scenario: Scenario) -> samza.Effects:
    """Encode the entries of a scenario of keys."""
    layout = scenario.config["layout"]
    return {"steps": [{"result": _encoded(layout, step["entry"])} for step in scenario.steps]}


def _encoded(layout: str, entry: Mapping[str, Any]) -> str:
    if layout == "window_start":
        return keys.i64(entry["start"]).hex()
    if layout == "session_start":
        return keys.session_start(entry["key"], entry["start"]).hex()
    return keys.message_key(
        layout,  # type: ignore[arg-type]
        ts=entry.get("ts", 0),
        group=entry.get("key"),
        lane=entry["lane"],
        offset=entry["offset"],
    ).hex()


class _Consumer:
    def __init__(self) -> None:
        self.willing: int | None = None
        self.taken: list[WindowRow | Pair] = []

    def __call__(self, row: WindowRow | Pair) -> bool:
        if self.willing == 0:
            return False
        if self.willing is not None:
            self.willing -= 1
        self.taken.append(row)
        return True


class _Driver:
    def __init__(self, scenario: Scenario) -> None:
        self._setup, self._standalone = setup_of(scenario), scenario.standalone
        self._consumer, self._store = _Consumer(), MemoryStore()
        self._operator = self._make()

    def _make(self) -> WindowedAggregator | WindowJoin:
        consumer = None if self._standalone else self._consumer
        setup = self._setup
        options: dict[str, Any] = {"disorder": setup.disorder, **setup.options}
        if isinstance(setup.flow, StreamFlow):
            return WindowedAggregator(setup.flow, setup.lanes, consumer, self._store, **options)
        return WindowJoin(setup.flow, setup.lanes, consumer, self._store, **options)

    def rebuild(self) -> None:
        """Continue with a new operator over the same store, as after a planned restart."""
        snapshot = self._operator.snapshot()
        self._operator = self._make()
        self._operator.restore(snapshot)  # type: ignore[arg-type]

    def step(self, step: Mapping[str, Any]) -> dict[str, Any]:
        self._consumer.taken = []
        try:
            did = self._run(step)
        except DenseOffsetGap as gap:
            place = {"lane": gap.lane, "expected": gap.expected, "found": gap.found}
            did = {"error": {"code": gap.code, **place}}
        except CallRefused as refused:
            did = {"error": {"code": refused.code}}
            if isinstance(refused, NoMessageStore):
                did["result"] = None
        return did | {"out": samza.spell_rows(self._consumer.taken)}

    def _run(self, step: Mapping[str, Any]) -> dict[str, Any]:
        operator, op = self._operator, step["op"]
        if op in ("add", "batch"):
            report = operator.add(records_of(dict(step)), step["wall"])
            return {
                "dead": samza.spell_refusals(report.dead),
                "dropped": report.dropped,
                "replayed": report.replayed,
            }
        if op in ("get_result", "get_windows", "get_messages"):
            return {"result": self._query(step)}
        if op == "timeout":
            operator.timeout(step["wall"])
        elif op == "flush":
            operator.flush()
        elif op == "crash":
            operator.crash()
        elif op == "refuse":
            self._consumer.willing = step["after"]
        elif op == "accept":
            self._consumer.willing = None
        else:
            msg = f"step {op!r} is not known"
            raise ValueError(msg)
        return {}

    def _query(self, step: Mapping[str, Any]) -> list[dict[str, Any]]:
        operator, op = self._operator, step["op"]
        if op == "get_result":
            return samza.spell_rows(operator.get_result())
        where = (step["start"], step["end"], step.get("key", ANY))
        if op == "get_messages":
            found = (
                operator.get_messages(*where, side=step.get("side"))
                if isinstance(operator, WindowJoin)
                else operator.get_messages(*where)
            )
            return [samza.spell_record(record) for record in found]
        assert isinstance(operator, WindowedAggregator)  # noqa: S101 - joins store no windows
        return samza.spell_windows(operator.get_windows(*where))

    def final(self) -> dict[str, Any]:
        operator = self._operator
        lanes = {
            name: {"next": next_, "progress": samza.spell_progress(progress)}
            for name, (next_, progress) in operator.lanes.items()
        }
        common: dict[str, Any] = {
            "progress": samza.spell_progress(operator.progress),
            "lanes": lanes,
            "held": operator.held_back,
        }
        if isinstance(operator, WindowJoin):
            sides = ("left", "right")
            messages = {
                side: [samza.spell_record(r) for r in operator.get_messages(side=side)]  # type: ignore[arg-type]
                for side in sides
            }
            return {**common, "message_key": operator.message_layout, "messages": messages}
        windows = samza.spell_windows(operator.get_windows())
        try:
            kept = [samza.spell_record(record) for record in operator.get_messages()]
        except NoMessageStore:
            return {**common, "windows": windows, "messages": None}
        return {**common, "windows": windows, "messages": kept}
