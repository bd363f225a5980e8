"""Random scenarios of policy windows and operators, in the format of the recorded ones.

They have all that a recorded row can have, in combinations that no recorded row has; `expected` is
empty. Times are multiples of 1/8 s, which floats represent exactly.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from conformance.spl import OperatorCase, WindowCase

Operation = dict[str, Any]

_COUNTS = st.builds(lambda size: {"kind": "count", "size": size}, st.integers(0, 4))
_DELTAS = st.builds(
    lambda size, attr: {"kind": "delta", "size": size, "attr": attr},
    st.sampled_from([0, 1, 2, 5]),
    st.sampled_from(["value", "value2"]),
)
_TIMES = st.builds(
    lambda size: {"kind": "time", "size": size}, st.sampled_from([0.5, 1, 1.5, 2, 2.5, 4])
)
_SLIDING = _COUNTS | _DELTAS | _TIMES
_MARKS = st.builds(
    lambda mark, n: {"mark": mark, "n": n},
    st.sampled_from(["oldest", "second", "largest", "all", "none"]),
    st.integers(1, 2),
)
_PARTITION_EVICTIONS = st.one_of(
    st.builds(
        lambda kind, size, selection: {"kind": kind, "size": size, "selection": selection},
        st.sampled_from(["partitionCount", "tupleCount"]),
        st.integers(1, 5),
        st.just("LRU") | _MARKS,
    ),
    st.builds(
        lambda size: {"kind": "partitionAge", "size": size}, st.sampled_from([1, 1.5, 1.75, 3])
    ),
)


@st.composite
def window_cases(draw: st.DrawFn, profile: str = "both") -> WindowCase:
    """A scenario of a tumbling or sliding window."""
    tumbling, partitioned = draw(st.booleans()), draw(st.booleans())
    summarizer = tumbling and draw(st.booleans())
    eviction = draw(_SLIDING | st.just({"kind": "punct"}) if tumbling else _SLIDING)
    durations = st.none() | st.sampled_from([0.5, 3.0]) | st.lists(st.sampled_from([0, 1.5, 5.0]))
    return WindowCase.model_validate(
        {
            "id": "random",
            "profile": profile,
            "window": "tumbling" if tumbling else "sliding",
            "partitioned": partitioned,
            "eviction": eviction,
            "trigger": None if tumbling else draw(_SLIDING),
            "partition_eviction": draw(st.none() | _PARTITION_EVICTIONS) if partitioned else None,
            "summarizer": summarizer,
            "handler_duration": draw(durations),
            "input": draw(_operations(punct=eviction["kind"] == "punct", partitioned=partitioned)),
            "expected": [],
            "timed": True,
        }
    )


@st.composite
def _operations(draw: st.DrawFn, *, punct: bool, partitioned: bool) -> list[Operation]:
    kinds = ["insert"] * 6 + ["advance"] * 3 + ["checkpoint", "restore", "reset"]
    kinds += ["punct"] * 3 if punct else []
    operations: list[Operation] = []
    now, value, saved = 0.0, 0, 0
    for kind in draw(st.lists(st.sampled_from(kinds), max_size=30)):
        match kind:
            case "insert":
                value += draw(st.sampled_from([0, 0, 1, 1, 2, 3, 6, -2]))
                key = draw(st.integers(0, 3)) if partitioned else None
                second = draw(st.integers(0, 9))
                operations.append(
                    {"op": "insert", "partition": key, "value": value, "value2": second}
                )
            case "advance":
                now += draw(st.integers(0, 24)) / 8
                operations.append({"op": "advance", "to": now})
            case "punct":
                marker = draw(st.sampled_from(["window", "window", "final", "drain"]))
                operations.append({"op": "punct", "punct": marker})
            case "checkpoint":
                saved += 1
                operations.append({"op": "checkpoint", "name": f"c{saved}"})
            case "restore" if saved:
                operations.append({"op": "restore", "name": f"c{draw(st.integers(1, saved))}"})
            case "reset":
                operations.append({"op": "reset"})
    return operations


@st.composite
def interval_cases(draw: st.DrawFn) -> WindowCase:
    """A scenario of an interval window."""
    operations: list[Operation] = []
    partitioned, mark = draw(st.booleans()), 0
    for kind in draw(st.lists(st.sampled_from("iiiiw"), max_size=30)):
        if kind == "w":
            mark += draw(st.integers(-2, 9))
            operations.append({"op": "watermark", "value": max(mark, 0)})
        else:
            value = max(0, mark + draw(st.integers(-12, 12)))
            key = draw(st.integers(0, 2)) if partitioned else None
            operations.append({"op": "insert", "partition": key, "value": value})
    return WindowCase.model_validate(
        {
            "id": "random",
            "profile": "both",
            "window": "timeInterval",
            "partitioned": partitioned,
            "interval": {
                "intervalDuration": draw(st.integers(1, 7)),
                "creationPeriod": draw(st.integers(1, 9)),
                "intervalOffset": draw(st.integers(0, 9)),
                "discardAge": draw(st.integers(0, 9)),
            },
            "input": operations,
            "expected": [],
        }
    )


_TS = {"kind": "delta", "size": 2, "attr": "ts"}
_FUNCTIONS = [
    *("Count", "CountAll", "CountGroups", "CountByGroup"),
    *("Any", "First", "Last", "Collect", "CollectDistinct", "CountDistinct", "CountByDistinct"),
    *("Sum", "Average", "Min", "Max", "MinCount", "MaxCount", "SampleStdDev", "PopulationStdDev"),
    *("ArgMin", "ArgMax", "CollectArgMin", "CollectArgMax"),
]
_PORT_EVICTIONS = [
    {"kind": "count", "size": 0},
    {"kind": "count", "size": 1},
    {"kind": "count", "size": 3},
    _TS,
    {"kind": "time", "size": 1.5},
]


@st.composite
def _ports(draw: st.DrawFn, types: list[str], trigger: st.SearchStrategy[Any]) -> dict[str, Any]:
    kind = draw(st.sampled_from(types))
    evictions = [*_PORT_EVICTIONS, {"kind": "punct"}] if kind == "tumbling" else _PORT_EVICTIONS
    port: dict[str, Any] = {"type": kind, "eviction": draw(st.sampled_from(evictions))}
    if kind == "sliding":
        port["trigger"] = draw(trigger)
    if draw(st.booleans()):
        port["partition_by"] = draw(st.sampled_from([["k"], ["k", "g"]]))
        evicted = draw(st.none() | _PARTITION_EVICTIONS)
        if evicted is not None:
            # Users choose partitions of windows, not of operators.
            port["partition_eviction"] = {k: v for k, v in evicted.items() if k != "selection"}
    return port


_EACH = st.just({"kind": "count", "size": 1})
_TRIGGERS = st.sampled_from(
    [{"kind": "count", "size": 1}, {"kind": "count", "size": 2}, _TS, {"kind": "time", "size": 1}]
)


@st.composite
def operator_cases(draw: st.DrawFn, profile: str = "both") -> OperatorCase:
    """A scenario of Aggregate, Join or Sort."""
    operator = draw(st.sampled_from(["Aggregate", "Join", "Sort"]))
    params, outputs = {}, []
    if operator == "Join":
        windows = [draw(_ports(["sliding"], _EACH)) for _ in range(2)]
        if len({len(port.get("partition_by", ())) for port in windows} - {0}) == 2:
            windows[1]["partition_by"] = windows[0]["partition_by"]
        params = draw(_join_params())
    elif operator == "Sort":
        windows = [draw(_ports(["tumbling", "sliding"], _EACH))]
        if profile != "paper" and windows[0]["type"] == "sliding":
            windows[0]["eviction"] = {"kind": "count", "size": 3}
        directions = st.sampled_from(["ascending", "descending"])
        params = {"sortBy": draw(st.sampled_from([["v"], ["g", "v"], ["v", "id"]]))}
        params["order"] = [draw(directions) for _ in params["sortBy"]]
    else:
        windows = [draw(_ports(["tumbling", "sliding"], _TRIGGERS))]
        params, outputs = (
            draw(_aggregate_params(windows[0])),
            [{"name": name, "fn": name, "args": _arguments(name)} for name in _FUNCTIONS],
        )
    return OperatorCase.model_validate(
        {
            "id": "random",
            "profile": profile,
            "operator": operator,
            "windows": windows,
            "params": params,
            "outputs": outputs,
            "input": draw(_tuples(len(windows))),
            "expected": [{"step": -1, "t": 0.0}],
        }
    )


def _arguments(function: str) -> list[str]:
    if "Arg" in function:
        return ["v", "id"]
    return [] if function in ("Count", "CountAll", "CountGroups", "CountByGroup") else ["v"]


@st.composite
def _aggregate_params(draw: st.DrawFn, port: dict[str, Any]) -> dict[str, Any]:
    params: dict[str, Any] = {}
    if draw(st.booleans()):
        params["groupBy"] = ["g"]
    if port["type"] == "sliding":
        params["aggregatePartialWindows"] = draw(st.booleans())
    elif "partition_by" in port:
        params["aggregateEvictedPartitions"] = draw(st.booleans())
    return params


@st.composite
def _join_params(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from(["inner", "leftOuter", "rightOuter", "outer"]))
    params: dict[str, Any] = {"algorithm": kind}
    if draw(st.booleans()):
        params |= {"equalityLHS": ["v"], "equalityRHS": ["v"]}
    if draw(st.booleans()):
        params["match"] = draw(st.sampled_from(["L.v <= R.v", "L.k != R.k"]))
    if kind != "inner" and draw(st.booleans()):
        params["extra_output_ports"] = 2 if kind == "outer" else 1
    return params


@st.composite
def _tuples(draw: st.DrawFn, ports: int) -> list[Operation]:
    operations: list[Operation] = []
    now, ts = 0.0, 0
    for kind in draw(st.lists(st.sampled_from("tttttap"), max_size=30)):
        port = draw(st.integers(0, ports - 1))
        if kind == "a":
            now += draw(st.integers(0, 16)) / 8
            operations.append({"op": "advance", "to": now})
        elif kind == "p":
            marker = draw(st.sampled_from(["window", "final"]))
            operations.append({"op": "punct", "port": port, "punct": marker})
        else:
            ts += draw(st.integers(-1, 3))
            row = {name: draw(st.integers(0, 3)) for name in ("k", "g", "v")}
            row |= {"id": len(operations), "ts": ts}
            operations.append({"op": "tuple", "port": port, "tuple": row})
    return operations
