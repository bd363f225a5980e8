"""Lanes that join a running pipeline: the definition's bytes, whenever the engine got to know them.

A run reads the lanes that it began with; the others join one after the other, each from a snapshot
of a job that knew nothing of it, at the progress that this had. What comes out is what the
definition says of the whole log with the record of the joining, and what an engine gives that knew
all lanes from the start, however the log is cut.
"""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.strategies import KINDS, Case, Entry, cases, entry, interleavings, join_cases
from windowing.engine.plan import plan_of
from windowing.engine.progress.idle import IdleLanes
from windowing.engine.reading.batches import batches
from windowing.engine.shard import Shard
from windowing.engine.storage.state import MemoryStore
from windowing.engine.wids import ENDED, NOTHING_YET
from windowing.model import Pipeline, Query, parse_pipeline
from windowing.model.errors import PipelineError
from windowing.model.rows import dead_letter_lines, row_lines
from windowing.model.run_errors import ArrivalOrder, CheckpointMismatch, UndeclaredPartition
from windowing.model.windows.window import Window
from windowing.runtime.local import LocalEngine, Output
from windowing.semantics import evaluate
from windowing.semantics.log import BadLogError
from windowing.semantics.units import ArrivalOrderError

_OVER_A_VALUE = [kind for kind in KINDS if "row" not in kind]
_EXAMPLES = max(settings.default.max_examples // 10, 3) if settings.default else 3
_BATCH_ROWS = st.sampled_from([1, 3, 8, 50])

Document = dict[str, Any]


class RefusedAsItShould(Exception):
    """Rows are counted as they arrive, and nothing says in which lane: no lane may join."""


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=_EXAMPLES)
@given(data=st.data())
def test_every_class(kind: str, data: st.DataObject) -> None:
    check(data.draw(cases(kind=kind, wide=True)), data)


@pytest.mark.parametrize("kind", _OVER_A_VALUE)
@settings(max_examples=_EXAMPLES)
@given(data=st.data())
def test_windows_over_another_attribute(kind: str, data: st.DataObject) -> None:
    check(data.draw(cases(kind=kind, wide=True, number=True)), data)


@settings(max_examples=3 * _EXAMPLES)
@given(data=st.data())
def test_joins(data: st.DataObject) -> None:
    check(data.draw(join_cases()), data)


def check(case: Case, data: st.DataObject) -> None:
    document = yaml.safe_load(case.pipeline)
    sources = sources_of(document)
    for source in sources.values():
        source.pop("joined", None)  # lanes join here, and nowhere else
    late = data.draw(st.sampled_from(sorted(sources)))
    many = sources[late]["partitions"]
    if many == 1:
        return  # and no lane is left to join
    leaving = data.draw(st.integers(1, many - 1))
    names = [f"{late}/{number}" for number in range(many - leaving, many)]
    for name in names:
        shrink(sources[late], name)
    log = [entry(event) for event in data.draw(interleavings(case.lanes))]
    try:
        found, pipeline = live(document, names, log, data)
        outcome = evaluate(pipeline, log)
        whole = [*row_lines(outcome.rows), *dead_letter_lines(outcome.dead)]
        assert sorted(set(found)) == sorted(whole)
        engine = LocalEngine(pipeline)
        for batch in batches(log, data.draw(_BATCH_ROWS), pipeline):
            engine.feed(batch)
        assert sorted(lines(engine.output)) == sorted(whole)
    except RefusedAsItShould:
        return
    except (ArrivalOrder, ArrivalOrderError):
        with pytest.raises(ArrivalOrderError):
            evaluate(parse_pipeline(case.pipeline), log)


def live(
    document: Document, names: list[str], log: list[Entry], data: st.DataObject
) -> tuple[list[str], Pipeline]:
    """Run a log through engines that get to know lanes one after the other."""
    pipeline = parse_pipeline(yaml.safe_dump(document))
    engine, left, sent = LocalEngine(pipeline), list(log), []
    for name in names:
        known = {pipeline.source.lane(number) for number in range(pipeline.source.partitions)}
        readable = [one for one in left if f"{one.source}/{one.partition}" in known]
        taken = readable[: data.draw(st.integers(0, len(readable)))]
        for batch in batches(taken, data.draw(_BATCH_ROWS), pipeline):
            engine.feed(batch)
        left = [one for one in left if not any(one is other for other in taken)]
        sent += lines(engine.output)
        ahead = data.draw(st.sampled_from([0, 0, 0, 1, 20]))
        timed = pipeline.source.event_time.field
        at = {field: us + ahead for field, us in highest(pipeline, engine).items()}
        assume(all(us < ENDED for us in at.values()))
        grow(document, name, pipeline.source.partitions, timed, at)
        if any(counted(query.window) for query in pipeline.of(Query)):
            with pytest.raises(PipelineError, match="E_ARRIVAL_ORDER"):
                parse_pipeline(yaml.safe_dump(document))
            raise RefusedAsItShould
        pipeline = parse_pipeline(yaml.safe_dump(document))
        snapshot, engine = engine.snapshot(), LocalEngine(pipeline)
        engine.restore(snapshot)
    for batch in batches(left, data.draw(_BATCH_ROWS), pipeline):
        engine.feed(batch)
    return sent + lines(engine.output), pipeline


def counted(window: Window) -> bool:
    """Whether it counts rows as they arrive, with no PATTR to say whose they are."""
    return window.traits.counts_arrivals and window.pattr is None


def sources_of(document: Document) -> dict[str, Document]:
    """The sources of a pipeline file, by topic."""
    if "source" in document:
        return {document["source"]["topic"]: document["source"]}
    sides = (document["join"][side]["source"] for side in ("left", "right"))
    return {source["topic"]: source for source in sides}


_GONE: dict[str, list[tuple[Document, Any]]] = {}
"""What a case's generators said of the lanes that were taken out of it."""


def shrink(source: Document, name: str) -> None:
    """Take a lane out of a source, and out of what its generators say of it."""
    source["partitions"] -= 1
    _GONE[name] = []
    for named in _by_lane(source):
        _GONE[name].append((named, named.pop(name)))


def grow(document: Document, name: str, number: int, timed: str, at: dict[str, int]) -> None:
    """Let a lane join, with what generators said of it."""
    source = sources_of(document)[name.rpartition("/")[0]]
    source["partitions"] += 1
    for named, value in _GONE[name]:
        named[name] = value
    attribute = source["event_time"]["field"]
    own = {attribute if field == timed else field: us for field, us in at.items()}
    source.setdefault("joined", {})[name] = {"lane": number, "at": own}


def _by_lane(source: Document) -> list[Document]:
    """The parts of a source's generators that name lanes."""
    found = []
    for generator in (source["disorder"], *source.get("disorder_of", {}).values()):
        if isinstance(generator, dict):
            found += [generator["heartbeat"]] if "heartbeat" in generator else []
            per = generator.get("ordered_per")
            found += [per["members"]] if isinstance(per, dict) and "members" in per else []
    return found


def highest(pipeline: Pipeline, engine: LocalEngine) -> dict[str, int]:
    """By attribute, the largest progress that any shard knows of any unit; none: left out."""
    found: dict[str, int] = {}
    for values in engine.snapshot().shards:
        store = MemoryStore()
        store.restore(values)
        for attribute, us in Shard(plan_of(pipeline)).highest(store).items():
            found[attribute] = max(found.get(attribute, us), us)
    return {attribute: us for attribute, us in found.items() if us != NOTHING_YET}


def lines(output: Output) -> list[str]:
    """All of an output, spelled as in files."""
    return [*row_lines(output.rows), *dead_letter_lines(output.dead_letters)]


PIPELINE = """
name: p
source:
  topic: s
  partitions: {partitions}
  format: json
  event_time: {{field: ts, unit: us}}
  fields: {{k: string}}
  disorder: {disorder}
  {joined}
late: {{policy: dead_letter}}
shards: 2
queries:
  w: {{window: {window}, aggregates: {{n: count}}}}
"""
TUMBLING = "RANGE 10 us SLIDE 10 us WATTR ts"


def pipeline_of(
    partitions: int,
    joined: str = "",
    *,
    disorder: str = "ordered",
    window: str = TUMBLING,
) -> Pipeline:
    text = PIPELINE.format(
        partitions=partitions,
        joined=f"joined: {joined}" if joined else "",
        disorder=disorder,
        window=window,
    )
    return parse_pipeline(text)


def events(*records: tuple[int, int, int]) -> list[Entry]:
    """Records of topic s, as partition, offset and time."""
    return [
        entry({"source": "s", "partition": p, "offset": o, "value": {"ts": ts, "k": "a"}})
        for p, o, ts in records
    ]


def fed(pipeline: Pipeline, log: list[Entry], engine: LocalEngine | None = None) -> LocalEngine:
    engine = engine or LocalEngine(pipeline)
    for batch in batches(log, 2):
        engine.feed(batch)
    return engine


def test_a_case_by_hand() -> None:
    """Two lanes are at 25 when the third joins: its 19 is late, its 20 is not, and 25 holds P.

    [0, 10) and [10, 20) had closed, so 19 is late for [10, 20). P is the smallest of 31, 25 and
    the third lane's: 25 until it moves, 30 with its 30, and so [20, 30) closes with 20 and 25.
    """
    before = events((0, 0, 5), (1, 0, 15), (0, 1, 25), (1, 1, 25))
    behind = events((0, 2, 31), (1, 2, 31), (2, 0, 19), (2, 1, 20), (2, 2, 30))
    first = fed(pipeline_of(2), before)
    assert {row.window_id: row.records for row in first.output.rows} == {0: 1, 1: 1}
    grown = pipeline_of(3, "{s/2: {lane: 2, at: {ts: 25}}}")
    second = LocalEngine(grown)
    second.restore(first.snapshot())
    fed(grown, behind, second)
    assert [(row.window_id, row.records) for row in second.output.rows] == [(2, 3)]
    assert [(dead.offset, dead.reason) for dead in second.output.dead_letters] == [(0, "late")]
    whole = evaluate(grown, [*before, *behind])
    rows = [*first.output.rows, *second.output.rows]
    assert sorted(row_lines(rows)) == sorted(row_lines(whole.rows))
    assert second.output.dead_letters == whole.dead


def test_a_landmark_window_that_only_the_joining_closes() -> None:
    """Lane 0 ends at 5, lane 1 joined at 25: windows 0 and 1 close by that, window 2 by its 35."""
    grown = pipeline_of(
        2,
        "{s/1: {lane: 1, at: {ts: 25}}}",
        window="RANGE LANDMARK SLIDE 10 us WATTR ts",
    )
    end = entry({"source": "s", "partition": 0, "offset": 1, "control": {"end": True}})
    log = [*events((0, 0, 5)), end, *events((1, 0, 35))]
    engine = LocalEngine(grown)
    for one in log:
        fed(grown, [one], engine)
    rows = {row.window_id: row.records for row in engine.output.rows}
    assert rows == {0: 1, 1: 1, 2: 1}
    assert sorted(row_lines(engine.output.rows)) == sorted(row_lines(evaluate(grown, log).rows))


def test_a_record_that_lies_behind_the_run_is_refused() -> None:
    """Joining at 24 would let a record at 24 into nothing new, and one at 9 into what was sent."""
    first = fed(pipeline_of(1), events((0, 0, 5), (0, 1, 25)))
    for joined in ("{s/1: {lane: 1, at: {ts: 24}}}", "{s/1: {lane: 1}}"):
        grown = pipeline_of(2, joined)
        second = LocalEngine(grown)
        second.restore(first.snapshot())
        with pytest.raises(CheckpointMismatch, match=r"s/1 is said to join at ts (24|nothing yet)"):
            fed(grown, events((1, 0, 30)), second)


def test_a_source_that_has_ended_takes_no_lane() -> None:
    end = entry({"source": "s", "partition": 0, "offset": 0, "control": {"end": True}})
    first = fed(pipeline_of(1), [end])
    grown = pipeline_of(2, "{s/1: {lane: 1, at: {ts: 9000000000000000000}}}")
    second = LocalEngine(grown)
    second.restore(first.snapshot())
    with pytest.raises(CheckpointMismatch, match="the run is at its end"):
        fed(grown, events((1, 0, 30)), second)


def test_a_lane_that_joined_is_silent_from_its_joining_on() -> None:
    store = MemoryStore()
    assert IdleLanes(10, 1).silent(store, {0}, 100) == frozenset()
    grown = IdleLanes(10, 2)
    assert grown.silent(store, {0}, 109) == frozenset()
    assert grown.silent(store, {0}, 118) == frozenset()
    assert grown.silent(store, {0}, 119) == {1}


def test_state_is_extended_by_lanes_that_joined_and_by_nothing_else() -> None:
    """Not by a changed window, not by a partition that no record lets join, and never back."""
    first = fed(pipeline_of(2), events((0, 0, 5), (1, 0, 15)))
    joined = "{s/2: {lane: 2, at: {ts: 25}}}"
    for other in (
        pipeline_of(3),
        pipeline_of(3, joined, window="RANGE 20 us SLIDE 10 us WATTR ts"),
        pipeline_of(3, joined, disorder="{slack: 1 us}"),
    ):
        engine = LocalEngine(other)
        engine.restore(first.snapshot())
        with pytest.raises(CheckpointMismatch):
            fed(other, events((0, 1, 30)), engine)
    grown = pipeline_of(3, joined)
    second = LocalEngine(grown)
    second.restore(first.snapshot())
    fed(grown, events((0, 1, 30), (1, 1, 30)), second)
    snapshot = second.snapshot()
    back = LocalEngine(pipeline_of(2))
    for (_, store), values in zip(back._shards, snapshot.shards, strict=True):
        store.restore(values)
    with pytest.raises(CheckpointMismatch):
        fed(pipeline_of(2), events((0, 2, 40)), back)


def test_a_pipeline_that_nothing_joined_keeps_its_fingerprint() -> None:
    """A checkpoint of before opens: the key is in no fingerprint where it says nothing."""
    grown = pipeline_of(4, "{s/2: {lane: 2, at: {ts: 25}}, s/3: {lane: 3, at: {ts: 30}}}")
    three = pipeline_of(3, "{s/2: {lane: 2, at: {ts: 25}}}")
    assert grown.earlier == {pipeline_of(2).fingerprint: 2, three.fingerprint: 3}


def test_an_undeclared_partition_is_named() -> None:
    """By engine and definition alike; it was an `IndexError`, or another side's lane."""
    pipeline, log = pipeline_of(2), events((2, 0, 5))
    with pytest.raises(UndeclaredPartition, match=r"s/2 is a partition .*--accept-partitions"):
        fed(pipeline, log)
    with pytest.raises(BadLogError, match=r"s/2 is a partition .*--accept-partitions"):
        evaluate(pipeline, log)


@pytest.mark.parametrize(
    ("partitions", "joined", "said"),
    [
        (3, "{s/1: {lane: 2}}", "can only be the last ones"),
        (3, "{t/2: {lane: 2}}", "can only be the last ones"),
        (1, "{s/0: {lane: 1}}", "can only be the last ones, but not all"),
        (3, "{s/2: {lane: 3}}", "s/2 is lane 3, and the next number is 2"),
        (3, "{s/2: {at: {ts: 5}}}", "does not give lane and at"),
        (3, "{s/2: {lane: 2, at: {k: 5}}}", "'k' is neither the event time"),
        (3, "{s/2: {lane: 2, at: {ts: soon}}}", "'soon' is not a progress"),
        (3, "{s/2: {lane: 2, at: {ts: 9223372036854775807}}}", "is not a progress"),
        (3, "[s/2]", "names no lanes"),
        (3, "{two: {lane: 2}}", "is not the name of a lane"),
    ],
)
def test_a_record_that_is_none(partitions: int, joined: str, said: str) -> None:
    with pytest.raises(PipelineError, match=said):
        pipeline_of(partitions, joined)


def test_rows_counted_as_they_arrive_need_pattr() -> None:
    joined = "{s/1: {lane: 1, at: {ts: 5}}}"
    rows = "RANGE 2 rows SLIDE 2 rows WATTR row_num"
    with pytest.raises(PipelineError, match="E_ARRIVAL_ORDER: s/1 joined"):
        pipeline_of(2, joined, window=rows)
    assert pipeline_of(2, joined, window=f"{rows} PATTR k").earlier


def test_generators_that_name_lanes_name_those_that_joined() -> None:
    joined = "{s/1: {lane: 1, at: {ts: 5}}}"
    with pytest.raises(PipelineError, match="s/1 is missing"):
        pipeline_of(2, joined, disorder="{heartbeat: {s/0: {max_delay: 5 s}}}")


def test_heartbeats_tell_nothing_of_a_lane_that_joined() -> None:
    """That 30 was seen of the second lane stands in the first one from before the second joined.

    Whoever believed it would call 12 late; a job that did not know the lane cannot have done so.
    """
    seen = {"source": "s", "partition": 0, "offset": 1, "control": {"seen": {"s/1": 30}}}
    before = [*events((0, 0, 5)), entry(seen)]
    behind = [*events((0, 2, 12)), entry({**seen, "offset": 3}), *events((0, 4, 25), (1, 0, 25))]
    first = fed(pipeline_of(1, disorder="{heartbeat: {s/0: {max_delay: 0 us}}}"), before)
    both = "{heartbeat: {s/0: {max_delay: 0 us}, s/1: {max_delay: 0 us}}}"
    grown = pipeline_of(2, "{s/1: {lane: 1, at: {ts: 5}}}", disorder=both)
    second = LocalEngine(grown)
    second.restore(first.snapshot())
    fed(grown, behind, second)
    rows = [*first.output.rows, *second.output.rows]
    assert sorted((row.window_id, row.records) for row in rows) == [(0, 1), (1, 1)]
    assert not second.output.dead_letters
    whole = evaluate(grown, [*before, *behind])
    assert sorted(row_lines(whole.rows)) == sorted(row_lines(rows))
    assert not whole.dead


def test_lanes_of_a_join_keep_their_numbers() -> None:
    """A partition of the left topic was read as one of the right; now it stands behind both."""
    side = (
        "{{source: {{topic: {topic}, partitions: {n}, format: json, disorder: ordered, "
        "event_time: {{field: ts, unit: us}}, fields: {{k: string}}{joined}}}, window: 5 us}}"
    )

    def join(left: str, right: str, many: tuple[int, int]) -> Pipeline:
        sides = [
            side.format(topic=topic, n=n, joined=f", joined: {joined}" if joined else "")
            for topic, n, joined in zip(("l", "r"), many, (left, right), strict=True)
        ]
        return parse_pipeline(
            f"name: j\njoin:\n  left: {sides[0]}\n  right: {sides[1]}\n"
            "  equal: [k]\n  select: {k: left.k}\n"
        )

    grown = join("{l/1: {lane: 4, at: {ts: 9}}}", "{r/2: {lane: 3, at: {ts: 7}}}", (2, 3))
    source = grown.source
    names = [source.lane(number) for number in range(source.partitions)]
    assert names == ["l/0", "r/0", "r/1", "r/2", "l/1"]
    assert [source.number(*name.split("/")[:1], int(name[2:])) for name in names] == [*range(5)]
    assert grown.flows[0] is not None
    topics = [source.place(number)[0].topic for number in range(5)]
    sides = [grown.flows[0].side_of(topic) for topic in topics]
    assert sides == ["left", "right", "right", "right", "left"]
    assert source.number("l", 2) is None
    a, b = source.foreign("r")
    assert source.lane(a * 7 + b) == "r/7"
    first, second = join("", "", (1, 2)), join("", "{r/2: {lane: 3, at: {ts: 7}}}", (1, 3))
    assert grown.earlier == {first.fingerprint: 3, second.fingerprint: 4}
