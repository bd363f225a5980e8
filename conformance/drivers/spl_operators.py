"""Run scenarios of Aggregate, Join and Sort on our operators."""

from __future__ import annotations

import json
import operator as compare
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from conformance import spl
from conformance.cases import Driver, Verdict
from conformance.drivers.spl_windows import partition_eviction, policy
from conformance.spl import (
    AdvanceCase,
    Logged,
    OperatorCase,
    ParamsCase,
    PortCase,
    PunctCase,
    TupleCase,
)
from windowing.engine.rows import operators
from windowing.engine.rows.operators import Operator, PortOutput, Punctuation, WindowClause
from windowing.engine.rows.policies import ManualClock, Marker, Profile

_SECOND_US = 1_000_000
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "<=": compare.le,
    ">=": compare.ge,
    "!=": compare.ne,
    "==": compare.eq,
    "<": compare.lt,
    ">": compare.gt,
    "=": compare.eq,
}
# The attributes of the streams in the scenarios; `f` is input only.
_SCHEMA = ("id", "k", "g", "v", "ts")


def judge(case: OperatorCase) -> list[Verdict]:
    """Run a scenario as given, and with the operator restored before every step."""
    rebuilding = partial(drive, rebuild=True)
    ways = (("operators", drive), ("operators, rebuilt between steps", rebuilding))
    return spl.first_failed(spl.judge_operator(case, way, by) for by, way in ways)


OPERATORS = Driver("operators", judge)


def drive(case: OperatorCase, profile: str, *, rebuild: bool = False) -> Sequence[Logged]:
    """Run a scenario with one operator, or with another one for every step."""
    return _Drive(case, Profile(profile)).run(rebuild=rebuild)


class _Drive:
    def __init__(self, case: OperatorCase, profile: Profile) -> None:
        self._case, self._profile = case, profile
        self._clock = ManualClock()
        self._log: list[Logged] = []
        self._step = 0
        self._timed = any("t" in sent for sent in case.expected)

    def run(self, *, rebuild: bool) -> Sequence[Logged]:
        operator = self._build()
        for number, operation in enumerate(self._case.input):
            if rebuild:
                snapshot = json.loads(json.dumps(operator.snapshot()))
                operator = self._build()
                operator.restore(snapshot, timers=True)
            self._step = number
            match operation:
                case TupleCase():
                    operator.insert(operation.tuple, operation.port)
                case PunctCase():
                    operator.punctuate(Marker(operation.punct), operation.port)
                case AdvanceCase():
                    operator.tick(round(operation.to * _SECOND_US))
        return self._log

    def _send(self, sent: PortOutput) -> None:
        logged: Logged = {"step": self._step, "port": sent.port}
        if self._timed:
            logged["t"] = self._clock.now_us / _SECOND_US
        if isinstance(sent.item, Punctuation):
            self._log.append({**logged, "punct": "window"})
            return
        row = dict(sent.item)
        if self._case.operator != "Aggregate":
            row.pop("f", None)
        self._log.append({**logged, "tuple": row})

    def _build(self) -> Operator:
        case, params = self._case, self._case.params
        windows = [_clause(port) for port in case.windows]
        common: dict[str, Any] = {"profile": self._profile, "clock": self._clock}
        if case.operator == "Aggregate":
            outputs = {
                output.name: operators.Output(output.fn, tuple(output.args))
                for output in case.outputs
            }
            return operators.Aggregate(
                windows[0], outputs, self._send, **common, **_aggregate_options(params)
            )
        if case.operator == "Sort":
            return operators.Sort(
                windows[0], params.sort_by, self._send, order=params.order, **common
            )
        left, right = windows
        return operators.Join(
            left,
            right,
            combine=_combine,
            send=self._send,
            kind=operators.JoinKind(params.algorithm),
            equal=(params.equality_lhs, params.equality_rhs),
            where=_condition(params.match),
            extra_ports=params.extra_output_ports,
            defaults=_defaults(params),
            **common,
        )


def _clause(port: PortCase) -> WindowClause:
    trigger = policy(port.trigger)
    by = tuple(port.partition_by or ())
    evicts = partition_eviction(port.partition_eviction)
    return WindowClause(port.type, policy(port.eviction), trigger, by, evicts)


def _aggregate_options(params: ParamsCase) -> dict[str, Any]:
    partial = params.aggregate_partial_windows  # the paper's name; the library has another
    if partial is None:
        partial = params.aggregate_incomplete_windows
    return {
        "group_by": params.group_by,
        "partial_windows": partial,
        "evicted_partitions": params.aggregate_evicted_partitions,
    }


def _combine(left: Mapping[str, Any], right: Mapping[str, Any]) -> dict[str, Any]:
    return {"l_id": left["id"], "l_v": left["v"], "r_id": right["id"], "r_v": right["v"]}


def _condition(text: str | None) -> Callable[[Any, Any], bool] | None:
    """Parse the condition of a scenario, such as `L.v <= R.v`."""
    if text is None:
        return None
    left, sign, right = text.split()
    test = _COMPARE[sign]
    return lambda one, other: test(one[left.removeprefix("L.")], other[right.removeprefix("R.")])


def _defaults(params: ParamsCase) -> dict[str, Any]:
    """Return the default tuples of a join; zeros by default."""
    if params.extra_output_ports:
        return {}
    left, right = operators.JoinKind(params.algorithm).outer_sides
    zeros = dict.fromkeys(_SCHEMA, 0)
    defaults = {}
    if right:
        defaults["left"] = params.default_tuple_lhs or zeros
    if left:
        defaults["right"] = params.default_tuple_rhs or zeros
    return defaults
