"""The plan: what it decides for every recorded pipeline and class, and that this is what runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from chaos.faults import FAULTS
from tests.strategies import Entry, entry
from windowing.engine.plan import Plan, plan_of
from windowing.engine.reading.batches import batches
from windowing.engine.storage.state import MemoryStore
from windowing.engine.wids import ENDED
from windowing.engine.windows.by_record import DEFINERS
from windowing.engine.windows.evaluation import Keeps
from windowing.engine.windows.part import Tables
from windowing.explain.pipeline import explain
from windowing.model import Pipeline, load_pipeline, parse_pipeline
from windowing.runtime.local import LocalEngine

ROOT = Path(__file__).parents[3]
DATA = ROOT / "tests" / "data" / "pipelines"

SLICES = "SlidingLanePart, SlidingShardPart: partial states"
BINS = "AtRecordsLanePart, AtRecordsShardPart: partial states"
CHAINS = "SessionLanePart, SessionShardPart: chains"
RECORDED = {
    "aggregates": ["ts", f"numbers by ts: {SLICES}", f"any by ts: {SLICES}"],
    "another-attribute": [
        "ts, odometer",
        f"per_100_km by odometer: {SLICES}",
        f"lately by odometer: {BINS}",
        f"per_minute by ts: {SLICES}",
    ],
    "controls": ["ts", f"w by ts: {SLICES}"],
    "exact-floats": ["ts", f"w by ts: {SLICES}"],
    "heartbeats": ["ts", f"w by ts: {SLICES}"],
    "iso-times": ["at", f"sec by at: {SLICES}"],
    "join": ["ts", "pairs by ts: JoinLanePart, JoinShardPart: records"],
    "keys-and-nulls": ["at", f"by_grade by at: {SLICES}", f"by_shop by at: {SLICES}"],
    "late-policies": [
        "ts",
        *(f"{name} by ts: {SLICES}" for name in ("default", "dropped", "inherited", "strict")),
    ],
    "late-update-consistent": ["ts", f"w by ts: {SLICES}"],
    "late-update-generous": ["ts", f"w by ts: {SLICES}"],
    "nexmark-q8": [
        "dateTime",
        "pairs by dateTime: WindowJoinLanePart, WindowJoinShardPart: records",
    ],
    "poison": ["ts", f"w by ts: {SLICES}"],
    "retention-edge": ["ts", f"a by ts: {SLICES}", f"b by ts: {SLICES}"],
    "sessions": [
        "ts, row_num",
        f"time by ts: {CHAINS}",
        f"rows by row_num, counting by row_num: {CHAINS}",
    ],
    "silent-lane": ["ts", f"w by ts: {SLICES}"],
    "tumbling": ["ts", f"ten by ts: {SLICES}"],
    "windows-and-gaps": ["t", *(f"{name} by t: {SLICES}" for name in ("gap", "neg", "odd"))],
}
RANKED = "RankedLanePart, RankedShardPart: records"
CUMULATIVE = "SlidingLanePart, LandmarkShardPart: partial states"
BY_ROWS = "by row_num per k, counting by row_num per k"
CLASSES = {
    "RANGE 2 s SLIDE 1 s WATTR ts": f"by ts: {SLICES}",
    "RANGE LANDMARK SLIDE 1 s WATTR ts": f"by ts: {CUMULATIVE}",
    "RANGE 3 rows SLIDE 1 row WATTR row_num PATTR k": f"{BY_ROWS}: {SLICES}",
    "RANGE LANDMARK SLIDE 1 row WATTR row_num PATTR k": f"{BY_ROWS}: {CUMULATIVE}",
    "RANGE 3 rows SLIDE 1 row WATTR row_num ORDER event_time": f"by ts: {RANKED}",
    "RANGE LANDMARK SLIDE 1 row WATTR row_num ORDER event_time": f"by ts: {RANKED}",
    "RANGE 5 s SLIDE 1 row RATTR ts SATTR row_num": f"by ts: {BINS}",
    "RANGE 5 s SLIDE 2 rows RATTR ts SATTR row_num": f"by ts, counting by row_num: {BINS}",
    "RANGE 5 s SLIDE 2 rows RATTR ts SATTR rank(ts)": f"by ts: {BINS}",
    "SESSION 5 s WATTR ts": f"by ts: {CHAINS}",
    "SESSION 5 rows WATTR row_num": f"by row_num, counting by row_num: {CHAINS}",
}
TEXT = """
name: p
source: {{topic: t, partitions: 1, format: json, event_time: {{field: ts, unit: s}},
  fields: {{k: string}}, disorder: {{slack: 20 s}}{source}}}
shards: 1
queries: {{q: {{window: {window}, aggregates: {{n: count}}{query}}}}}
"""


def _pipeline(window: str, *, source: str = "", query: str = "") -> Pipeline:
    return parse_pipeline(TEXT.format(window=window, source=source, query=query))


def _spelled(plan: Plan) -> list[str]:
    flows = []
    for flow in plan.flows:
        counting = "" if flow.row_clock is None else f", counting by {flow.row_clock.name}"
        classes = f"{flow.lane.__name__}, {flow.shard.__name__}"
        keeps = flow.evaluation.keeps.value
        flows.append(f"{flow.name} by {flow.clock.name}{counting}: {classes}: {keeps}")
    return [", ".join(clock.name for clock in plan.clocks), *flows]


@pytest.mark.parametrize("name", sorted(path.name for path in DATA.iterdir() if path.is_dir()))
def test_what_is_decided_for_a_recorded_pipeline(name: str) -> None:
    assert _spelled(plan_of(load_pipeline(DATA / name / "pipeline.yml"))) == RECORDED[name]


@pytest.mark.parametrize(("window", "decided"), CLASSES.items())
def test_what_is_decided_for_a_class(window: str, decided: str) -> None:
    assert _spelled(plan_of(_pipeline(window)))[1] == f"q {decided}"


@pytest.mark.parametrize("name", [*RECORDED])
def test_the_local_engine_runs_what_the_plan_says(name: str) -> None:
    engine = LocalEngine(load_pipeline(DATA / name / "pipeline.yml"))
    for flow in engine.plan.flows:
        lanes = {type(lane.parts[flow.name]) for lane in engine.lanes}
        assert lanes == {flow.lane}
        assert type(engine.shard.parts[flow.name]) is flow.shard
    assert len(engine.lanes) == engine.plan.lanes
    assert len(engine.snapshot().shards) == engine.plan.shards


@pytest.mark.parametrize("name", [*RECORDED])
def test_stages_of_spark_run_what_the_plan_says(name: str) -> None:
    from windowing.spark.stages import LaneStage, ShardStage

    pipeline = load_pipeline(DATA / name / "pipeline.yml")
    lanes, shards = LaneStage(pipeline.text), ShardStage(pipeline.text)
    for stage in (lanes, shards):
        stage.open(MemoryStore)
    for flow in plan_of(pipeline).flows:
        assert type(lanes.lane(0).parts[flow.name]) is flow.lane
        assert type(shards.shard().parts[flow.name]) is flow.shard


@pytest.mark.parametrize("name", ["parts_of", "clock_of", "row_clock_of"])
def test_nobody_else_decides(name: str) -> None:
    """Whoever wants to know how a query is run reads the plan."""
    asking = {
        str(path.relative_to(ROOT))
        for room in ("windowing", "jobs", "slackwater", "chaos", "conformance", "benchmarks")
        for path in (ROOT / room).rglob("*.py")
        if re.search(rf"(?<!def )\b{name}\(", path.read_text(encoding="utf-8"))
    }
    assert asking == {"windowing/engine/windows/classes.py"}


def _store(engine: LocalEngine) -> MemoryStore:
    """The state of the only shard."""
    (values,) = engine.snapshot().shards
    store = MemoryStore()
    store.restore(values)
    return store


def _tables(engine: LocalEngine) -> Tables:
    return engine.shard.canonical_state(_store(engine))["q"]


def _held(engine: LocalEngine) -> int:
    return max(map(len, _tables(engine).values()))


def _log(times: list[int], *, first: int = 0) -> list[Entry]:
    return [
        entry({"source": "t", "partition": 0, "offset": n, "value": {"ts": ts, "k": "a"}})
        for n, ts in enumerate(times, first)
    ]


def _fed(pipeline: Pipeline, times: list[int], *, first: int = 0) -> LocalEngine:
    engine = LocalEngine(pipeline)
    for batch in batches(_log(times, first=first), 7):
        engine.feed(batch)
    return engine


@pytest.mark.parametrize("window", [text for text in CLASSES if "row" not in text])
def test_records_that_lie_together_are_kept_as_is_said(window: str) -> None:
    """Twelve records of one time: one partial state, one chain, or each by itself."""
    engine = _fed(_pipeline(window), [100] * 12)
    (flow,) = engine.plan.flows
    assert flow.evaluation.keeps is not Keeps.RECORDS
    assert _held(engine) == 1


@pytest.mark.parametrize("window", [text for text in CLASSES if "ORDER event_time" in text])
def test_records_that_wait_for_their_number_are_kept_one_by_one(window: str) -> None:
    engine = _fed(_pipeline(window), [100] * 12)
    (flow,) = engine.plan.flows
    assert flow.evaluation.keeps is Keeps.RECORDS
    assert _held(engine) == 12
    (said,) = (line for line in explain(engine.plan) if "evaluated as" in line)
    assert said.startswith("  evaluated as: records wait")


@pytest.mark.parametrize(
    ("window", "gap"),
    [("SESSION 5 s WATTR ts", "time"), ("SESSION 5 rows WATTR row_num", "rows of other keys")],
)
def test_what_parts_sessions_is_said(window: str, gap: str) -> None:
    said = "\n".join(explain(plan_of(_pipeline(window))))
    assert f"less than a gap of {gap} between them" in said


@pytest.mark.parametrize("window", [*CLASSES])
def test_a_fault_of_state_is_suggested_wherever_more_than_partial_states_are_kept(
    window: str,
) -> None:
    """Faults know traits only: they see nothing of the engine."""
    pipeline = _pipeline(window)
    suggestion = FAULTS["delete_state_delta"].suggestion
    assert suggestion is not None
    (flow,) = plan_of(pipeline).flows
    assert suggestion.to(pipeline) or flow.evaluation.keeps is Keeps.PARTIALS


@pytest.mark.parametrize(
    "window", ["RANGE 10 s SLIDE 10 s WATTR ts", "RANGE 25 s SLIDE 10 s WATTR ts"]
)
@pytest.mark.parametrize("policy", ["", ", late: {policy: update, every: 10 s}, retention: 60 s"])
def test_no_more_is_kept_than_explain_says(window: str, policy: str) -> None:
    plan = plan_of(_pipeline(window, query=policy))
    (flow,) = plan.flows
    said = flow.evaluation.estimate(flow.query, plan.pipeline.source)
    assert said is not None
    assert any(f"about {said} partial states per lane" in line for line in explain(plan))
    held = [_held(_fed(plan.pipeline, [*range(end)])) for end in range(120, 160, 7)]
    assert 1 < max(held) <= said


_PASSES = re.compile(r"(RANGE|SESSION) \d s (?!.*rank)")
"""Windows that hold nothing once they are over."""


def _in_us(spelled: re.Match[str]) -> str:
    return f"{spelled[1]} us" if spelled[1] else "unit: us"


@pytest.mark.parametrize("window", [text for text in CLASSES if _PASSES.match(text)])
def test_once_its_rows_are_out_nothing_of_a_window_is_kept(window: str) -> None:
    """Not for a microsecond: what is held then is what would be without its records.

    Of windows that records define, this is who defines them: values may be in later ones.
    """
    text = _pipeline(window).text
    pipeline = parse_pipeline(re.sub(r"\b(\d+) s\b|unit: s", _in_us, text))
    old, out = [100, 101, 102, 102], list[int]()
    rows = len(_fed(pipeline, [*old, 900]).output.rows)
    for last in range(120, 140):
        engine = _fed(pipeline, [*old, last])
        out.append(len(engine.output.rows))
        held, rest = _tables(engine), _tables(_fed(pipeline, [last], first=len(old)))
        names = {DEFINERS} & {*held} or {*held}
        gone = all(held[name].equals(rest[name]) for name in names)
        assert gone == (out[-1] == rows), last
    assert out[0] < out[-1]


@pytest.mark.parametrize("window", [text for text in CLASSES if "WATTR row_num" not in text])
def test_what_is_due_next_lies_ahead(window: str) -> None:
    """Otherwise each step would read all of the state in vain."""
    engine, ahead = LocalEngine(_pipeline(window)), 0
    times = [*range(100, 180, 3), *range(200, 300, 20)]
    for batch in batches(_log(times), 1):
        engine.feed(batch)
        store = _store(engine)
        due_us = engine.shard.head(store).due_us["q"]
        assert due_us > engine.shard.highest(store)["ts"]
        ahead += due_us < ENDED
    assert ahead > len(times) / 2


@pytest.mark.parametrize(
    ("source", "query", "provisional"),
    [
        ("", "", False),
        ("", ", early: {records: 1}", True),
        (", idle_timeout: 5 s", "", True),
    ],
)
def test_rows_of_open_windows_are_sent_as_planned(
    source: str, query: str, provisional: bool
) -> None:
    pipeline = _pipeline("RANGE 10 s SLIDE 10 s WATTR ts", source=source, query=query)
    text = pipeline.text.replace("partitions: 1", "partitions: 2")
    engine = LocalEngine(parse_pipeline(text))
    for number, ts in enumerate((1, 100)):
        value = {"source": "t", "partition": 0, "offset": number, "value": {"ts": ts, "k": "a"}}
        (batch,) = batches([entry(value)], 1)
        engine.feed(batch, wall_us=number * 10_000_000)
    assert bool(engine.output.early) == provisional
    assert not engine.output.rows
