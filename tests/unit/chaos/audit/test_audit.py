"""An audit explains what an engine may do, and finds what no engine may."""

from __future__ import annotations

import json
import random
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaos.audit.job import AuditError, Job
from chaos.audit.output import read_written
from chaos.audit.report import write_audit
from chaos.audit.verdict import Audit, Verdict, audit
from chaos.audit.windows import expected
from chaos.readers.log import LogRecord
from tests.unit.chaos.audit.engines import DELAY, ENGINES, RANGE, SLIDE, Event, Row, starts
from windowing.model import Pipeline, parse_pipeline

NAMED = sorted(ENGINES)


def described(late: str = "", disorder: str = f"{{slack: {DELAY} ms}}") -> Pipeline:
    return parse_pipeline(f"""
name: p
source: {{topic: s, partitions: 3, format: json, event_time: {{field: ts, unit: ms}},
  fields: {{k: string, v: int}}, disorder: {disorder}}}
{late}
queries:
  w: {{window: RANGE {RANGE} ms SLIDE {SLIDE} ms WATTR ts, group_by: [k],
    aggregates: {{n: count, total: sum(v)}}}}
""")


events = st.lists(
    st.builds(
        Event,
        st.integers(0, 2),
        st.integers(0, 90_000),
        st.sampled_from(["a", "b"]),
        st.integers(-3, 3),
    ),
    max_size=40,
)


def log_of(found: list[Event]) -> list[LogRecord]:
    records, ends = [], dict[int, int]()
    for event in found:
        offset = ends.get(event.partition, 0)
        ends[event.partition] = offset + 1
        value = json.dumps({"ts": event.ts, "k": event.key, "v": event.v}).encode()
        records.append(LogRecord("s", event.partition, offset, value, None, None))
    return records


def judged(name: str, found: list[Event], rows: list[Row], *, together: bool) -> Audit:
    job = Job.of(name, described(), None)
    written: dict[tuple[int, tuple[str]], list[dict[str, int]]] = {}
    for row in rows:
        values = {"n": row.n, "total": row.total}
        written.setdefault((row.start * 1_000, (row.key,)), []).append(values)
    return audit(job, expected(job, log_of(found), together=together), written)  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "together"), NAMED)
@given(found=events, seed=st.integers(0, 1_000))
def test_what_an_engine_did_is_never_impossible(
    name: str, together: bool, found: list[Event], seed: int
) -> None:
    rows = ENGINES[name, together](found, random.Random(seed))
    said = judged(name, found, rows, together=together)
    assert said.ok, [*said.lines(), *said.impossible]
    # What it wrote is judged, each window once.
    assert {(row.start, row.key) for row in rows} <= {
        (one.place.start_us // 1_000, one.place.key[0]) for one in said.windows
    }
    if name == "kafka-streams":
        assert said.undetermined == 0


@pytest.mark.parametrize(("name", "together"), NAMED)
@given(found=events.filter(bool), seed=st.integers(0, 1_000), data=st.data())
def test_a_defect_in_a_determined_window_is_found(
    name: str, together: bool, found: list[Event], seed: int, data: st.DataObject
) -> None:
    rows = ENGINES[name, together](found, random.Random(seed))
    said = judged(name, found, rows, together=together)
    sure = {
        (one.place.start_us // 1_000, one.place.key[0])
        for one in said.windows
        if one.verdict is Verdict.equal and one.written is not None
    }
    last = {(row.start, row.key): place for place, row in enumerate(rows)}
    if not sure:
        return
    place = last[data.draw(st.sampled_from(sorted(sure)))]
    row = rows[place]
    for bad, why in (
        (row._replace(n=row.n - 1), "lost"),
        (row._replace(n=row.n + 1), "doubled"),
        (row._replace(total=row.total + 1), "differs"),
    ):
        wrong = [*rows[:place], bad, *rows[place + 1 :]]
        found_out = judged(name, found, wrong, together=together)
        assert [one.why.split(":")[0] for one in found_out.impossible] == [why]
    twice = judged(name, found, [*rows, row], together=together)
    assert twice.ok == (name == "kafka-streams")


def test_windows_that_nobody_may_send() -> None:
    found = [Event(0, 1_000, "a", 1), Event(0, 40_000, "a", 1)]
    rows = [Row(-10_000, "a", 1, 1), Row(0, "a", 1, 1)]
    assert judged("spark-window", found, rows, together=True).ok
    for more, why in (
        ([Row(30_000, "a", 1, 1)], "sent early"),
        ([Row(0, "b", 1, 1)], "invented"),
    ):
        said = judged("spark-window", found, [*rows, *more], together=True)
        assert [one.why.split(":")[0] for one in said.impossible] == [why]
    assert judged("flink", found, [*rows, Row(30_000, "a", 1, 1)], together=False).ok
    said = judged("spark-window", found, rows[:1], together=True)
    assert [one.why.split(":")[0] for one in said.impossible] == ["lost"]


def test_a_watermark_of_flink_may_lie_a_millisecond_higher_in_sql() -> None:
    """[0, RANGE) is closed by `ts - DELAY` from RANGE - 1 on in SQL, from RANGE on otherwise."""
    for newest, may_be_late in ((RANGE + DELAY - 1, True), (RANGE + DELAY - 2, False)):
        found = [Event(0, 0, "a", 1), Event(0, newest, "a", 1), Event(0, RANGE - 1, "a", 1)]
        held = {start for ts in (0, newest, RANGE - 1) for start in starts(ts)}
        rows = [
            Row(start, "a", n, n)
            for start in sorted(held)
            for n in [sum(start <= one.ts < start + RANGE for one in found)]
        ]
        assert judged("flink", found, rows, together=True).ok
        dropped = [row._replace(n=1, total=1) if row.start == 0 else row for row in rows]
        assert judged("flink", found, dropped, together=True).ok == may_be_late


def test_the_share_that_the_log_does_not_determine() -> None:
    found = [Event(0, 90_000, "a", 1), Event(0, 1_000, "a", 1)]
    late, kept = [Row(0, "b", 1, 1)][:0], [Row(-10_000, "a", 1, 1), Row(0, "a", 1, 1)]
    for rows in (late, kept):
        said = judged("spark-window", found, rows, together=True)
        assert said.ok
        assert said.undetermined == 0.5
        assert said.counts()[Verdict.explained] == 2


@pytest.mark.parametrize("kind", ["parquet", "delta", "jsonl", "csv", "flink", "flink-parquet"])
def test_outputs_of_any_kind(kind: str, tmp_path: Path) -> None:
    job = Job.of("flink", described(), None)
    frame = pl.DataFrame({"start": [0, 10_000], "k": ["a", "b"], "n": [1, 2], "total": [3, -4]})
    path = tmp_path / f"out.{kind}"
    if kind == "parquet":
        as_times = pl.col("start").cast(pl.Datetime("ms"))
        window = pl.struct(as_times, end=as_times).alias("window")
        path = tmp_path / "folder"
        path.mkdir()
        frame.select(window, "k", "n", "total").write_parquet(path / "part-0.parquet")
    elif kind.startswith("flink"):
        path.mkdir()
        write = frame.write_parquet if kind == "flink-parquet" else frame.write_ndjson
        write(path / "part-53b0c2c4-0-0")
        (path / ".part-53b0c2c4-0-1.inprogress.7a").write_text("not yet committed")
    elif kind == "delta":
        frame.write_delta(str(path))
    elif kind == "jsonl":
        frame.write_ndjson(path)
    else:
        frame.with_columns(
            start=pl.Series(["1970-01-01T00:00:00Z", "1970-01-01T00:00:10Z"])
        ).write_csv(path)
    assert read_written(path, job) == {
        (0, ("a",)): [{"n": 1, "total": 3}],
        (10_000_000, ("b",)): [{"n": 2, "total": -4}],
    }
    with pytest.raises(AuditError, match="has no column 'begins'"):
        read_written(path, job, "begins")


def test_what_cannot_be_audited(tmp_path: Path) -> None:
    with pytest.raises(AuditError, match="not known: spark-window"):
        Job.of("samza", described(), None)
    with pytest.raises(AuditError, match="no query 'x'"):
        Job.of("flink", described(), "x")
    with pytest.raises(AuditError, match="slack: 30 seconds"):
        Job.of("flink", described(disorder="{slack: 5 rows}"), None)
    late = "late: {policy: update, every: 1 s}\nretention: 10 s"
    with pytest.raises(AuditError, match="no allowed lateness"):
        Job.of("spark-window", described(late), None)
    assert Job.of("flink", described(late), None).lateness_us == 10_000_000
    with pytest.raises(AuditError, match="cannot be read"):
        read_written(tmp_path / "none.parquet", Job.of("flink", described(), None))


def test_the_page_shows_what_is_impossible(tmp_path: Path) -> None:
    found = [Event(0, 1_000, "<b>", 1), Event(0, 40_000, "<b>", 1)]
    said = judged("spark-window", found, [Row(0, "<b>", 7, 7)], together=True)
    page = write_audit(said, tmp_path, "slackwater audit").read_text(encoding="utf-8")
    assert "doubled: 7 records, and at most 1" in page
    assert "&lt;b&gt;" in page
    data = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert data["verdicts"] == {"equal": 2, "explained": 0, "unproven": 0, "impossible": 2}
    assert (tmp_path / "audit.png").stat().st_size > 10_000
