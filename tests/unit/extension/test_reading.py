"""A format and a fate of a package: the same by definition, engine, simulator, sink and verdict."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from chaos.quality.batches import RunTables
from chaos.readers.delta import read_tables
from chaos.readers.log import LogRecord
from chaos.readers.table import TableColumns
from chaos.simulator.simulate import simulate
from chaos.verdict.verify import verify
from windowing.engine.reading.pack import DATA, RawRows, pack
from windowing.engine.reading.rules import ValueRules
from windowing.model import parse_pipeline
from windowing.model.errors import PipelineError
from windowing.model.file.user_code import check_user_code
from windowing.model.registry import PluginError
from windowing.model.rows import row_line
from windowing.runtime.local import LocalEngine
from windowing.runtime.output import tagged
from windowing.semantics import evaluate
from windowing.spark.sinks.table import TableSink

TEXT = """
name: levels
source: {topic: s, partitions: 2, format: pairs, event_time: {field: ts, unit: us},
  fields: {at: string, level: int}, disorder: {slack: 20 us}, skipped: {level: 0}}
shards: 2
queries:
  q: {window: RANGE 40 us SLIDE 20 us WATTR ts, group_by: [at],
    aggregates: {high: max(level), n: count}}
sink: {table: levels}
"""
JSON = TEXT.replace("format: pairs", "format: json")
LEVELS = (3, 0, 0, 7, 2, 0, 5, 0, 9)


def values() -> list[bytes]:
    """Records, of which four are skipped, one of them late; a late one; and three bad values."""
    good = [f"ts={ts};at=pier;level={v}" for ts, v in zip(range(0, 90, 10), LEVELS, strict=True)]
    return [one.encode() for one in [*good, "ts=1;at=pier;level=0", "ts=1;at=pier;level=4"]] + [
        *(b"no pairs", b"ts=x;at=pier;level=1", b"ts=95;at=pier;level=high")
    ]


def log() -> list[LogRecord]:
    return [LogRecord("s", 0, offset, value, None, None) for offset, value in enumerate(values())]


def batches() -> list[dict[int, RawRows]]:
    found = []
    for first, end in ((0, 4), (4, 11), (11, 14)):
        own = values()[first:end]
        nothing = [None] * len(own)
        found.append({0: RawRows(range(first, first + len(own)), own, nothing, nothing)})
    return found


def test_reading_a_pipeline_imports_neither(tidepool: Path) -> None:
    source = parse_pipeline(TEXT).source
    assert (source.format.name, [step.name for step in source.steps]) == ("pairs", ["skipped"])
    assert not [name for name in sys.modules if name.startswith("tidepool")]


@pytest.mark.parametrize("fused", [False, True])
def test_engine_and_definition_agree(tidepool: Path, fused: bool) -> None:
    pipeline = parse_pipeline(TEXT)
    engine, defined = LocalEngine(pipeline, fused=fused), evaluate(pipeline, log())
    for batch in batches():
        engine.feed(batch)
    assert sorted(map(row_line, engine.output.rows)) == sorted(map(row_line, defined.rows))
    assert engine.output.dead_letters == defined.dead
    assert engine.output.counts == defined.counts
    counted = "read 14 = applied 5 + outside 0 + skipped 5 + dropped 0 + dead 4"
    assert str(defined.counts["q"]) == counted


def test_skipped_records_move_progress(tidepool: Path) -> None:
    """The last one at 80 does: without it, the window up to 60 would not be sent."""
    ahead = [*values()[:8], b"ts=80;at=pier;level=0"]
    entries = [LogRecord("s", 0, at, value, None, None) for at, value in enumerate(ahead)]
    one_lane = parse_pipeline(TEXT.replace("partitions: 2", "partitions: 1"))
    ends = {row.window_end_us for row in evaluate(one_lane, entries).rows}
    assert max(ends) == 60
    engine, nothing = LocalEngine(one_lane), [None] * len(ahead)
    engine.feed({0: RawRows(range(len(ahead)), ahead, nothing, nothing)})
    assert {row.window_end_us for row in engine.output.rows} == ends


def test_no_filter_judges_what_a_step_withholds(tidepool: Path) -> None:
    """It would fail for the level of the skipped ones."""
    pipeline = parse_pipeline(TEXT.replace("skipped:", "where: 10 div level >= 0, skipped:"))
    engine, defined = LocalEngine(pipeline), evaluate(pipeline, log())
    for batch in batches():
        engine.feed(batch)
    assert engine.output.counts == defined.counts
    assert engine.output.dead_letters == defined.dead
    assert "+ skipped 5 +" in str(defined.counts["q"])
    assert "bad_expression" not in {letter.reason for letter in defined.dead}


def test_by_column_and_one_by_one(tidepool: Path) -> None:
    rules = ValueRules.of(parse_pipeline(TEXT))
    (rows,) = [RawRows(range(14), values(), [None] * 14, [None] * 14)]
    whole = pack(rows, rules)
    single = [pack(rows.part(at, at + 1), rules) for at in range(14)]
    assert whole.rows() == [row for one in single for row in one.rows()]
    assert whole["kind"].to_list().count(DATA) == 11


@pytest.mark.parametrize("text", [TEXT, JSON])
def test_the_simulator_draws_and_judges_them(tidepool: Path, tmp_path: Path, text: str) -> None:
    report = simulate(8, seed=1, pipeline_text=text, keep=tmp_path)
    assert report.ok, "\n".join(report.lines())


def test_tables_verdict_and_expectation_have_the_fate(tidepool: Path, tmp_path: Path) -> None:
    pipeline = parse_pipeline(TEXT)
    engine, sink = LocalEngine(pipeline), TableSink(pipeline, tmp_path, "r1")
    for number, batch in enumerate(batches()):
        frames = [frame for emission in engine.feed(batch) for frame in tagged(emission)]
        sink.take(frames, number)
    verdict = verify(pipeline, log(), read_tables(tmp_path, pipeline))
    assert verdict.ok, verdict.lines()
    assert "+ skipped 5 + dropped 0" in verdict.lines()[0]
    (counts,) = RunTables(TableColumns(pipeline, tmp_path, "r1")).counts(["q"]).to_dict("records")
    assert (counts["read"], counts["skipped"], counts["dead"]) == (14, 5, 4)


def test_settings_that_break_a_rule_are_refused(tidepool: Path) -> None:
    with pytest.raises(PluginError, match=r"skipped: 3}: 3: name one field and its value"):
        evaluate(parse_pipeline(TEXT.replace("{level: 0}", "3")), log())
    with pytest.raises(PluginError, match=r"between '==': give one character"):
        evaluate(parse_pipeline(TEXT.replace("pairs", "{pairs: {between: ==}}")), log())
    wrong = TEXT.replace("pairs", "{pairs: {between: ==}}").replace("{level: 0}", "3")
    with pytest.raises(PipelineError) as both:
        check_user_code(parse_pipeline(wrong), "p.yml")
    assert [one.field for one in both.value.problems] == ["source.format", "source.skipped"]
    with pytest.raises(PipelineError, match="unknown key 'skips'"):
        parse_pipeline(TEXT.replace("skipped:", "skips:"))
    with pytest.raises(PipelineError, match="input should be 'json' or 'pairs'"):
        parse_pipeline(TEXT.replace("pairs", "csv"))


def test_settings_are_part_of_the_fingerprint(tidepool: Path) -> None:
    texts = (
        TEXT,
        JSON,
        TEXT.replace("level: 0", "level: 1"),
        TEXT.replace(", skipped: {level: 0}", ""),
    )
    assert len({parse_pipeline(text).fingerprint for text in texts}) == 4
