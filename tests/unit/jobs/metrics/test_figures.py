"""Lines of `metrics.jsonl`: what is in them, and that nothing is invented."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from jobs.metrics.figures import LaneFigures, counts_of, instant, line_of, report_of
from jobs.metrics.lines import EARLIER_FILE, LINES_FILE, Lines, read_lines
from tests.unit.jobs.metrics.figures import pipeline, progress, written
from windowing.model.lengths import INT64_MAX
from windowing.spark.sinks.written import RETRACTION, Portion

NOW = datetime(2026, 11, 23, 19, 0, tzinfo=UTC)


def test_a_line_has_spark_s_figures_and_the_sink_s() -> None:
    report = report_of(progress(3, {"0": 9, "1": 4}), pipeline().source)
    batch = written(
        13,
        {0: (7, 1_385_000_000_000_000), 1: (5, None)},
        Portion("w", "full", 4),
        Portion("w", "late", 2),
        Portion("w", RETRACTION, 2),
        Portion("w", "early", 1),
        Portion("dead_letters", "bad_json", 3, "levels/1", None),
        Portion("dead_letters", "late", 2, "levels/0", "w"),
        dropped=1,
    )
    assert report is not None
    lanes = {"levels/0": LaneFigures(1_385_000_000_000_000, offset=6, end=9)}
    lanes["levels/1"] = LaneFigures(offset=4, end=4)
    line = line_of(13, report, counts_of(batch), lanes, NOW)
    assert json.loads(json.dumps(line)) == {
        "at": "2026-11-23T18:50:08.210+00:00",
        "batch_id": 13,
        "rows_in": 12,
        "batch_ms": 4680,
        "stages_ms": {"latestOffset": 72, "addBatch": 2557, "queryPlanning": 2009, "walCommit": 11},
        "state_rows": None,
        "state_bytes": 12_776,
        "rows": 9,
        "revisions": 2,
        "late": 4,
        "dead": {"bad_json": 3, "late": 2},
        "lanes": {
            "levels/0": {
                "progress": "2013-11-21T02:13:20.000000+00:00",
                **{"offset": 6, "end": 9, "records": 7, "late": 3, "dead": 2},
            },
            "levels/1": {
                "progress": None,
                **{"offset": 4, "end": 4, "records": 5, "late": 1, "dead": 3},
            },
        },
    }


def test_what_nobody_tells_is_null() -> None:
    report = report_of(progress(0, {"0": 9, "1": 4}), pipeline().source)
    lanes = {"levels/0": LaneFigures()}
    by_spark = line_of(0, report, None, lanes, NOW)
    for name in ("rows", "revisions", "late", "dead"):
        assert by_spark[name] is None
    assert by_spark["lanes"]["levels/0"] == dict.fromkeys(
        ("progress", "offset", "end", "records", "late", "dead")
    )
    by_sink = line_of(0, None, counts_of(written(0, {0: (1, None)})), lanes, NOW)
    assert by_sink["at"] == "2026-11-23T19:00:00.000+00:00"
    for name in ("rows_in", "batch_ms", "stages_ms", "state_rows", "state_bytes"):
        assert by_sink[name] is None
    assert (by_sink["rows"], by_sink["dead"]) == (0, {})


def test_an_idle_trigger_is_no_batch() -> None:
    assert report_of(progress(4, {"0": 9}, ran=False), pipeline().source) is None


@pytest.mark.parametrize("us", [None, INT64_MAX, -INT64_MAX])
def test_a_time_beyond_the_calendar_is_null(us: int | None) -> None:
    assert instant(us) is None


def test_files_stay_small_and_torn_lines_spoil_no_others(tmp_path: Path) -> None:
    lines = Lines(tmp_path, bytes_max=100)
    for number in range(30):
        lines.append({"batch_id": number})
    for name in (LINES_FILE, EARLIER_FILE):
        assert 0 < (tmp_path / name).stat().st_size <= 100
    kept = [line["batch_id"] for line in read_lines(tmp_path)]
    assert kept == [*range(30 - len(kept), 30)]
    assert len(kept) > 5
    with (tmp_path / LINES_FILE).open("ab") as file:
        file.write(b'{"batch_id": 3')
    lines.append({"batch_id": 31})
    assert [line["batch_id"] for line in read_lines(tmp_path)][-1] == 31
    assert read_lines(tmp_path / "nowhere") == []
