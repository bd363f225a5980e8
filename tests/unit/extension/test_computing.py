"""A generator and an aggregate of a package: the same rows by definition, engine and simulator."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from chaos.simulator.simulate import simulate
from windowing.engine.plan import plan_of
from windowing.engine.reading.pack import RawRows
from windowing.explain.pipeline import explain
from windowing.model import parse_pipeline
from windowing.model.errors import PipelineError
from windowing.model.file.user_code import check_user_code
from windowing.model.registry import PLUGINS_VARIABLE, PluginError
from windowing.model.rows import row_line
from windowing.runtime.local import Output, run
from windowing.semantics import evaluate
from windowing.semantics.lanes import Lane

TEXT = """
name: levels
source: {topic: s, partitions: 2, format: json, event_time: {field: ts, unit: us},
  fields: {at: string, level: int}, disorder: {shuffled: 3}}
shards: 2
queries:
  q: {window: RANGE 40 us SLIDE 20 us WATTR ts, group_by: [at],
    aggregates: {range: tidal_range(level), n: count}}
"""
SAME = TEXT.replace("tidal_range(level)", "python:tidepool.aggregate:TidalRange(level)")


class Entry:
    """A record of the log, as the definition takes one."""

    source, control, append_us = "s", None, None

    def __init__(self, partition: int, offset: int, value: bytes) -> None:
        self.partition, self.offset, self.value = partition, offset, value


def log() -> list[Entry]:
    """Records in shuffled groups of three, and some that come later than that."""
    times = [20, 0, 10, 50, 30, 40, 80, 5, 70, 110, 90, 100, 140, 12, 130, 170, 150, 160]
    return [
        Entry(lane, offset, b'{"ts":%d,"at":"%s","level":%d}' % (ts, at, (ts * 7) % 31 - 12))
        for lane, at in enumerate((b"pier", b"reef"))
        for offset, ts in enumerate(times)
    ]


def batches() -> list[dict[int, RawRows]]:
    """The log in three cuts."""
    cut: list[dict[int, RawRows]] = []
    for first, end in ((0, 4), (4, 11), (11, 18)):
        batch = {}
        for lane in (0, 1):
            own = [one for one in log() if one.partition == lane][first:end]
            nothing = [None] * len(own)
            batch[lane] = RawRows([o.offset for o in own], [o.value for o in own], nothing, nothing)
        cut.append(batch)
    return cut


def assert_is_defined(output: Output) -> None:
    defined = evaluate(parse_pipeline(TEXT), log())  # type: ignore[arg-type]
    assert len(defined.rows) > 4
    assert any(one.reason == "late" for one in defined.dead)
    assert sorted(map(row_line, output.rows)) == sorted(map(row_line, defined.rows))
    assert len(output.dead_letters) == len(defined.dead)


def test_reading_a_pipeline_imports_neither(tidepool: Path) -> None:
    pipeline = parse_pipeline(TEXT)
    assert "what the plug-in shuffled makes of its records" in "\n".join(explain(plan_of(pipeline)))
    assert not [name for name in sys.modules if name.startswith("tidepool")]


def test_engine_and_definition_agree(tidepool: Path) -> None:
    assert_is_defined(run(parse_pipeline(TEXT), batches()))


def test_a_generator_that_raises_is_named_with_the_record(
    tidepool: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(parse_pipeline(TEXT), batches())  # imports the package
    lane = sys.modules["tidepool.lane_generator"].ShuffledLane
    whole = lane.bounds

    def brittle(self: Any, records: Any, memory: list[int]) -> Any:
        if 12 in records["ts_us"] and 140 in memory + records["ts_us"].to_list():
            raise LookupError("a seiche")
        return whole(self, records, memory)

    monkeypatch.setattr(lane, "bounds", brittle)
    said = "s/0, offset 13: its generator of progress failed: LookupError: a seiche"
    with pytest.raises(PluginError, match=said):
        run(parse_pipeline(TEXT), batches())

    def sunk(self: Lane, value: int, fields: Any, *, seen: bool) -> None:
        if value == 12:
            raise LookupError("a seiche")

    monkeypatch.setattr(Lane, "record", sunk)
    with pytest.raises(PluginError, match=said):
        evaluate(parse_pipeline(TEXT), log())  # type: ignore[arg-type]


def test_the_simulator_runs_them(tidepool: Path, tmp_path: Path) -> None:
    report = simulate(8, seed=1, pipeline_text=TEXT, keep=tmp_path)
    assert report.ok, report.lines()


def test_the_name_of_an_aggregate_is_its_class(tidepool: Path) -> None:
    """So there is one fingerprint, however the class is named."""
    assert parse_pipeline(TEXT).fingerprint == parse_pipeline(SAME).fingerprint
    other = TEXT.replace("shuffled: 3", "shuffled: 4")
    assert parse_pipeline(TEXT).fingerprint != parse_pipeline(other).fingerprint


def test_another_source_of_a_generator_is_another_pipeline(
    tidepool: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = parse_pipeline(TEXT).fingerprint
    monkeypatch.setattr("windowing.model.user.user_source.sources", lambda *_: {"tidepool": "new"})
    assert parse_pipeline(TEXT).fingerprint != before


@pytest.mark.parametrize(
    ("sort", "name", "reference"),
    [
        ("generator", "slack", "tidepool.generator:Shuffled"),
        ("aggregate", "mean", "tidepool.aggregate:TidalRange"),
    ],
)
def test_a_name_of_ours_is_taken(
    monkeypatch: pytest.MonkeyPatch, tidepool: Path, sort: str, name: str, reference: str
) -> None:
    monkeypatch.setenv(PLUGINS_VARIABLE, json.dumps({f"{sort}s": {name: reference}}))
    text = TEXT.replace("{shuffled: 3}", "{slack: 3 s}").replace("tidal_range", "mean")
    with pytest.raises(PipelineError, match=f"{reference} cannot be the {sort} '{name}'"):
        parse_pipeline(text)


def test_settings_that_break_a_rule_are_refused_by_a_run(tidepool: Path) -> None:
    pipeline = parse_pipeline(TEXT.replace("shuffled: 3", "shuffled: many"))
    said = r"disorder: {shuffled: \"many\"}: 'many' is no number of rows: write {shuffled: 4}"
    for asked in (lambda: run(pipeline, batches()), lambda: pipeline.fingerprint):
        with pytest.raises(PluginError, match=said):
            asked()
    with pytest.raises(PipelineError, match=f"source.disorder: {said}"):
        check_user_code(pipeline, "p.yml")


def test_a_generator_without_an_engine_says_so(
    monkeypatch: pytest.MonkeyPatch, tidepool: Path
) -> None:
    lone = {"generators": {"lone": "tidepool.generator:Shuffled"}}
    monkeypatch.setenv(PLUGINS_VARIABLE, json.dumps(lone))
    pipeline = parse_pipeline(TEXT.replace("shuffled: 3", "lone: 3"))
    with pytest.raises(PluginError, match=r"lane_generators has the name 'lone'"):
        run(pipeline, batches())


def test_settings_are_plain_values(tidepool: Path) -> None:
    with pytest.raises(PipelineError, match="E_DISORDER: shuffled: its settings must be numbers"):
        parse_pipeline(TEXT.replace("shuffled: 3", "shuffled: 2013-01-01"))
