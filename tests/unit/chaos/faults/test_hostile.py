"""Hostile control records and poison: refused as they say, and nothing else is touched."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from chaos.errors import FaultDidNotApply
from chaos.faults.fault import FaultContext
from chaos.faults.hostile import HostileProducer, _reached_us
from chaos.faults.hostile_records import (
    IMPORTED,
    HostileRecord,
    hostile_records,
    imported_file,
)
from chaos.faults.poison import HUGE_BYTES, extremes, poisons
from chaos.readers.log import LogRecord
from chaos.verdict.check import Outcome
from chaos.verdict.checks import nothing_imported
from infra.endpoints import Endpoints
from infra.layout import STATE_DIR_VARIABLE
from jobs.brokers.producing import control_of
from tests.unit.chaos.faults.test_faults import Job, context_of
from windowing.engine.reading.pack import RawRows
from windowing.model import Pipeline, Query, load_pipeline, parse_pipeline
from windowing.model.rows import row_line
from windowing.runtime.local import LocalEngine
from windowing.semantics import evaluate
from windowing.semantics.values import Record, ValueReader
from windowing.semantics.view import effective

ROOT = Path(__file__).parents[4]
OF_THE_PLAN = load_pipeline(ROOT / "chaos/plans/pipelines/hostile.yml")
SESSIONS = """
name: p
source: {topic: s, partitions: 2, format: json, event_time: {field: sched_us, unit: us},
  fields: {origin: string}, disorder: {slack: 1 hour}, control: CONTROL}
late: {policy: drop}
queries:
  q: {window: SESSION 1 hour WATTR sched_us, group_by: [origin], aggregates: {n: count}}
"""
FLIGHT = {"sched_us": 1_357_034_400_000_000, "origin": "EWR", "carrier": "UA", "cancelled": 0}
NOW_US = time.time_ns() // 1_000
ISO = """\
name: p
source:
  {topic: s, partitions: 1, format: json, event_time: {field: at, unit: iso, max: "2100-01-01"},
   fields: {v: "float?"}, unknown_fields: ignore, disorder: ordered}
queries:
  q: {window: RANGE 1 hour SLIDE 1 hour WATTR at, aggregates: {n: count}}
"""


class Log:
    """A log by hand, with offsets as a broker gives them."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline, self.records = pipeline, list[LogRecord]()
        self.ends = Counter[int]()

    def write(self, lane: int, value: bytes | None, control: bytes | None = None) -> int:
        topic, offset = self.pipeline.source.topic, self.ends[lane]
        self.records.append(LogRecord(topic, lane, offset, value, control, None))
        self.ends[lane] += 1
        return offset

    def data(self, first: int, count: int) -> None:
        for number in range(first, first + count):
            for lane in range(self.pipeline.source.partitions):
                text = f'{{"sched_us":{number * 600_000_000},"origin":"A{number % 3}"'
                fields = [name for name in self.pipeline.source.fields if name != "origin"]
                text += "".join(f',"{name}":{_value(name)}' for name in fields) + "}"
                self.write(lane, text.encode())


def _value(field: str) -> str:
    return '"UA"' if field == "carrier" else "1"


def attacked(pipeline: Pipeline, seed: int) -> tuple[Log, dict[tuple[int, int], HostileRecord]]:
    """A log to which somebody hostile wrote in its middle."""
    log = Log(pipeline)
    log.data(0, 20)
    reached_us = _reached_us(pipeline, log.records)
    assert reached_us == 19 * 600_000_000 + 1
    records = hostile_records(random.Random(seed), pipeline, reached_us, 200)
    assert len(records) >= 200
    places = {
        (record.lane, log.write(record.lane, None, control_of(record.headers))): record
        for record in records
    }
    log.data(20, 40)
    for lane in range(pipeline.source.partitions):
        log.write(lane, None, b'{"end": true}')
    return log, places


@pytest.mark.parametrize(
    "pipeline",
    [
        OF_THE_PLAN,
        *(
            parse_pipeline(SESSIONS.replace("CONTROL", rule))
            for rule in ("bounds", "all", "{believe: all, queries: 1}")
        ),
    ],
    ids=["plan", "bounds", "all", "one"],
)
@pytest.mark.parametrize("seed", [1, 2])
def test_it_is_refused_as_it_says_and_nothing_else_is_touched(
    pipeline: Pipeline, seed: int
) -> None:
    log, places = attacked(pipeline, seed)
    outcome = evaluate(pipeline, log.records)
    dead = {(d.partition, d.offset): d.reason for d in outcome.dead if d.query is None}
    declared = {place: record.refused(pipeline) for place, record in places.items()}
    known = {place: reason for place, reason in declared.items() if reason is not None}
    assert known == {place: dead.get(place) for place in known}
    assert {"not_allowed", "malformed"} <= {*known.values()}
    assert {*dead} <= {*places}  # no record of anybody else, and no lane has ended early
    for kind in ("a class of its own", "a million windows", "two thousand queries", "huge"):
        refused = {dead.get(place) for place, one in places.items() if one.what == kind}
        assert refused == {"not_allowed"}, kind
    names = {query.name for query in effective(pipeline, log.records).flows}
    assert {query.name for query in pipeline.flows} <= names


def test_a_log_that_is_believed_shows_every_kind_of_dispute() -> None:
    log, _ = attacked(OF_THE_PLAN, 1)
    after = effective(OF_THE_PLAN, log.records)
    assert [*after.conflicts] == ["disputed"]
    active = {query.name: query.window.active for query in after.of(Query)}
    granted, hourly = active["granted"], active["hourly"]
    assert granted is not None
    assert hourly is not None
    assert granted.later or hourly.later
    assert {row.query for row in evaluate(OF_THE_PLAN, log.records).rows} >= {"granted", "hourly"}


def test_the_engine_goes_on() -> None:
    log, _ = attacked(OF_THE_PLAN, 3)
    engine, outcome = LocalEngine(OF_THE_PLAN), evaluate(OF_THE_PLAN, log.records)
    lanes = [[one for one in log.records if one.partition == number] for number in range(3)]
    for at in range(0, max(map(len, lanes)), 50):
        batch = {number: lane[at : at + 50] for number, lane in enumerate(lanes)}
        engine.feed({number: _raw(rows) for number, rows in batch.items() if rows})
    assert sorted(map(row_line, engine.output.rows)) == sorted(map(row_line, outcome.rows))
    assert {*engine.output.dead_letters} == {*outcome.dead}
    assert IMPORTED not in sys.modules


def _raw(records: list[LogRecord]) -> RawRows:
    return RawRows(
        [one.offset for one in records],
        [one.value for one in records],
        [one.control for one in records],
        [one.append_us for one in records],
    )


def test_a_lane_that_has_ended_is_no_place_for_it() -> None:
    log = Log(OF_THE_PLAN)
    log.write(0, None, b'{"end": true}')
    with pytest.raises(FaultDidNotApply, match="flights/0 has ended"):
        _reached_us(OF_THE_PLAN, log.records)


@pytest.mark.parametrize("known", [True, False])
def test_who_imports_its_class_leaves_a_file(tmp_path: Path, *, known: bool) -> None:
    env = {name: text for name, text in os.environ.items() if name != STATE_DIR_VARIABLE}
    env |= {STATE_DIR_VARIABLE: str(tmp_path)} if known else {}
    subprocess.run([sys.executable, "-c", f"import {IMPORTED}"], env=env, cwd=ROOT, check=True)
    assert imported_file(tmp_path).exists() is known


# --- the proof of its effect -----------------------------------------------------------------


def written(folder: Path, reasons: list[str], read: int) -> tuple[HostileProducer, FaultContext]:
    """The fault after it has written two records, and what a job has made of them."""
    for name in ("offsets", "commits"):
        (folder / name).mkdir()
    (folder / "offsets" / "0").write_text(f'v1\n{{}}\n{{"t": {{"0": {read}}}}}')
    (folder / "commits" / "0").touch()
    letters = pa.table(
        {
            "partition": pa.array([0] * len(reasons), pa.int32()),
            "offset": pa.array(range(7, 7 + len(reasons)), pa.int64()),
            "query": pa.array([None] * len(reasons), pa.string()),
            "reason": pa.array(reasons, pa.string()),
        }
    )
    write_deltalake(str(folder / "dead_letters"), letters)
    context = replace(context_of(Job(folder), folder), tables=folder, pipeline=OF_THE_PLAN)
    attack = HostileProducer()
    attack._ends, attack._places = {0: 9}, {(0, 7), (0, 8)}
    return attack, context


def test_it_took_effect_once_the_job_has_refused_it(tmp_path: Path) -> None:
    attack, context = written(tmp_path, ["malformed", "not_allowed"], read=9)
    evidence = attack.heal(context)
    assert evidence == "the job has read past them; dead letters: malformed 1, not_allowed 1"
    assert not context.imported
    assert nothing_imported(context.imported).outcome is Outcome.passed


def test_a_job_that_has_not_read_it_shows_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chaos.faults.hostile._READ_S", 0.1)
    attack, context = written(tmp_path, ["malformed", "not_allowed"], read=8)
    with pytest.raises(FaultDidNotApply, match="has not read past the control records"):
        attack.heal(context)


def test_a_job_that_gives_up_is_said_to(tmp_path: Path) -> None:
    attack, context = written(tmp_path, ["malformed", "not_allowed"], read=8)
    context.job_error = lambda: "it was commanded"
    with pytest.raises(FaultDidNotApply, match=r"given up before .*: it was commanded"):
        attack.heal(context)


@pytest.mark.parametrize("reasons", [[], ["malformed", "malformed"], ["late", "not_allowed"]])
def test_a_job_that_has_not_refused_it_shows_nothing(reasons: list[str], tmp_path: Path) -> None:
    attack, context = written(tmp_path, reasons, read=9)
    with pytest.raises(FaultDidNotApply, match="its dead letters are"):
        attack.heal(context)


def test_an_import_fails_the_run_whatever_was_refused(tmp_path: Path) -> None:
    attack, context = written(tmp_path, [], read=9)
    endpoints = Endpoints("127.0.0.1:9092", "", "", "", "", "", "", tmp_path, "")
    context = replace(context, endpoints=endpoints)
    imported_file(tmp_path).touch()
    with pytest.raises(FaultDidNotApply, match="its dead letters are: none"):
        attack.heal(context)
    judged = nothing_imported(context.imported)
    assert judged.outcome is Outcome.failed
    assert IMPORTED in judged.evidence[0]


def test_what_an_earlier_fault_left_is_not_blamed_on_this_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attack, context = written(tmp_path, [], read=9)
    endpoints = Endpoints("127.0.0.1:9092", "", "", "", "", "", "", tmp_path, "")
    imported_file(tmp_path).touch()
    log = Log(OF_THE_PLAN)
    log.write(0, None, b'{"end": true}')
    monkeypatch.setattr("chaos.faults.hostile.read_topics", lambda *_: log.records)
    with pytest.raises(FaultDidNotApply, match="has ended"):
        attack.inject(replace(context, endpoints=endpoints))
    assert not imported_file(tmp_path).exists()


def reasons(pipeline: Pipeline, good: dict[str, object]) -> list[str]:
    reader = ValueReader(pipeline)
    assert isinstance(reader.read(json.dumps(good).encode(), None), Record)
    found = poisons(pipeline, good)
    assert [reader.read(one.value, NOW_US) for one in found] == [one.reason for one in found]
    return [one.reason for one in found]


def test_the_flights_are_poisoned_in_every_way() -> None:
    found = reasons(load_pipeline(ROOT / "pipelines" / "flight_delays.yml"), FLIGHT)
    assert found == [
        *["malformed"] * 3,
        "missing_event_time",
        "bad_event_time",
        *["time_out_of_range"] * 2,
        "time_ahead",
        "unknown_field",
        "null_key",
        "bad_type",
    ]


def test_a_pipeline_that_takes_nearly_everything_is_poisoned_with_the_rest() -> None:
    found = reasons(parse_pipeline(ISO), {"at": "2026-01-01T00:00:00Z", "v": 1})
    assert {"malformed", "bad_event_time", "time_out_of_range", "bad_type"} == set(found) - {
        "missing_event_time"
    }


@pytest.mark.parametrize("unit", ["us", "ms", "s"])
def test_without_limits_time_ends_where_64_bits_do(unit: str) -> None:
    text = ISO.replace('unit: iso, max: "2100-01-01"', f"unit: {unit}")
    assert "time_out_of_range" in reasons(parse_pipeline(text), {"at": 5, "v": None})


def test_the_extremes_are_large_and_refused() -> None:
    found = extremes(load_pipeline(ROOT / "pipelines" / "flight_delays.yml"), FLIGHT)
    assert max(len(one.value) for one in found) > HUGE_BYTES
    assert [one.reason for one in found][:3] == ["unknown_field", "malformed", "malformed"]
