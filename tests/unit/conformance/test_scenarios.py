"""Operators and pipelines are two ways to ask the same: random scenarios, run by both."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from conformance.drivers import samza_logs, samza_standalone
from conformance.drivers.samza_pipeline import AsPipeline, as_pipeline
from conformance.samza import Scenario
from windowing.model.record import Record

_FEW = max(settings.default.max_examples // 3, 6) if settings.default else 6
_AGGREGATES = ("count", "sum", "min", "max", "first", "last", "collect", "median")
Config = dict[str, Any]


def scenario(chance: Random) -> Scenario:
    """A scenario without what it expects."""
    operator = chance.choice(["aggregate", "session", "join"])
    config = _common(chance, operator)
    if operator == "join":
        config |= {"axis": "ts", "equality": chance.random() < 0.7, "emit": {"clock": "progress"}}
        for side in ("left", "right"):
            config[side] = {"window": chance.choice([None, 0, 5, 12])}
    else:
        config["window"] = _window(chance) if operator == "aggregate" else _gap(chance)
        config["aggregate"] = chance.choice(_AGGREGATES)
        config["accumulation"] = chance.choice(["accumulating", "discarding", "retracting"])
        if operator == "aggregate":
            config["group"] = chance.random() < 0.7
    _fit(config)
    steps = _steps(chance, config)
    expected = {"steps": [{} for _ in steps], "final": {}}
    return Scenario(id="random", operator=operator, config=config, steps=steps, expected=expected)


def _common(chance: Random, operator: str) -> Config:
    sources = {"left": ["l", "a"], "right": ["r"]} if operator == "join" else {None: ["s", "b"]}
    lanes = [
        {
            "lane": f"{source}/{partition}",
            "start_offset": chance.choice([0, 7]),
            **({} if side is None else {"side": side}),
        }
        for side, named in sources.items()
        for source in named[: chance.randint(1, 2)]
        for partition in range(chance.randint(1, 2))
    ]
    config: Config = {"lanes": lanes, "slack": chance.choice([0, 0, 3, 10, None])}
    policy = chance.choice(["update", "update", "drop", "dead_letter", None])
    if policy == "update":
        config["late"] = {"policy": policy, "clock": "progress", "every": chance.randint(1, 12)}
    elif policy is not None:
        config["late"] = {"policy": policy}
    if chance.random() < 0.5:
        config["retention"] = {"time": chance.randint(0, 30)}
        if operator == "aggregate" and chance.random() < 0.5:
            config["retention"]["windows"] = chance.randint(0, 4)
            if chance.random() < 0.5:
                del config["retention"]["time"]
    return config


def _window(chance: Random) -> Config:
    if chance.random() < 0.4:
        size, order = chance.randint(1, 5), chance.choice(["log", "event_time"])
        step = chance.choice([size, chance.randint(1, 6)])
        return {"unit": "rows", "size": size, "step": step, "order": order}
    size = chance.randint(1, 20)
    step = chance.choice([size, chance.randint(1, 25)])
    return {"unit": "time", "size": size, "step": step, "origin": chance.choice([0, 3, -7])}


def _gap(chance: Random) -> Config:
    if chance.random() < 0.3:
        return {"unit": "rows", "gap": chance.randint(1, 4)}
    own = {"gap_by_key": {"a": chance.randint(1, 20)}} if chance.random() < 0.3 else {}
    return {"unit": "time", "gap": chance.randint(1, 12), **own}


def _fit(config: Config) -> None:
    """Rows in log order have one lane, ranked ones no update."""
    window = config.get("window", {})
    if window.get("unit") == "rows" and window.get("order", "log") == "log":
        del config["lanes"][1:]
    if window.get("order") == "event_time" and config.get("late", {}).get("policy") != "drop":
        config["late"] = {"policy": "dead_letter"}


def _steps(chance: Random, config: Config) -> list[Config]:
    offsets = {lane["lane"]: lane["start_offset"] for lane in config["lanes"]}
    now, steps, ended = 0, list[Config](), set[str]()
    for wall in range(chance.randint(1, 10)):
        records: list[Config] = []
        for lane in chance.choices(sorted(offsets), k=chance.randint(1, 3)):
            if lane in ended:
                continue
            now += chance.randint(-3, 8)
            record: Config = {"lane": lane, "offset": offsets[lane]}
            kind = chance.random()
            if kind < 0.15:
                record["bound"] = "inf" if kind < 0.03 else now
                ended |= {lane} if kind < 0.03 else set()
            else:
                key, back = chance.choice(["a", "a", "b", None]), chance.choice([0, 0, 4, 9, 20])
                record |= {"ts": now - back, "key": key, "value": chance.randint(-5, 9)}
            offsets[lane] += 1
            records += [record] * (2 if chance.random() < 0.05 else 1)
        if records:
            steps.append({"op": "batch", "wall": wall, "records": records})
    open_ = [(lane, offset) for lane, offset in offsets.items() if lane not in ended]
    ends = [{"lane": lane, "offset": offset, "bound": "inf"} for lane, offset in open_]
    return [*steps, {"op": "batch", "wall": 99, "records": ends}]


@settings(max_examples=_FEW)
@given(chance=st.randoms(use_true_random=False))
def test_a_pipeline_gives_what_the_operator_gives(chance: Random) -> None:
    asked = scenario(chance)
    found = json.loads(json.dumps(samza_standalone.drive(asked)))
    question = as_pipeline(asked.model_copy(update={"expected": found}))
    assume(isinstance(question, AsPipeline))
    assert isinstance(question, AsPipeline)
    verdict = samza_logs.judge(question, interleavings=0)
    assert verdict.difference is None, verdict.line()


@settings(max_examples=_FEW)
@given(chance=st.randoms(use_true_random=False), windows=st.integers(0, 3))
def test_retention_in_windows_counts_rows_and_changes_no_row(chance: Random, windows: int) -> None:
    size, step = chance.randint(1, 4), chance.randint(1, 5)
    config: Config = {
        "lanes": [{"lane": "s/0", "start_offset": 0}],
        "window": {"unit": "rows", "size": size, "step": step},
        "full": chance.choice(["closed", "past_end"]),
        "aggregate": "collect",
    }
    steps = _steps(chance, config)
    expected = {"steps": [{} for _ in steps], "final": {}}
    for_ever = Scenario(
        id="random", operator="aggregate", config=config, steps=steps, expected=expected
    )
    purged = for_ever.model_copy(update={"config": config | {"retention": {"windows": windows}}})
    found, whole = (samza_standalone.drive(one, rebuild=True) for one in (purged, for_ever))
    assert found["steps"] == whole["steps"]
    rows = len({one.offset for one in purged.records() if isinstance(one, Record)})
    progress = rows - (config["full"] == "past_end")
    kept = progress - windows * step
    left = [one for one in whole["final"]["windows"] if one["window"][1] > kept]
    assert found["final"]["windows"] == left
    held = [value for one in left for value in one["value"]]
    assert sorted({one["value"] for one in found["final"]["messages"]}) == sorted({*held})
