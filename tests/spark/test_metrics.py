"""The metrics of a real job on a real log, against its tables and Spark's own reports."""

from __future__ import annotations

import json
import threading
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
from deltalake import DeltaTable
from prometheus_client.parser import text_string_to_metric_families

from chaos.quality.run import check
from chaos.readers.catalogue import read_output
from chaos.readers.topic import read_topics
from chaos.verdict.in_parts import Means
from chaos.verdict.verify import verify
from jobs.brokers.producing import send_all
from jobs.brokers.topics import create_topics
from jobs.checkpoints.checkpoint import Cut
from jobs.metrics.lines import LINES_FILE, read_lines
from jobs.overview import cache
from jobs.runs.job_order import write_environment
from jobs.runs.targets import address_of
from tests.unit.jobs.metrics.test_lineage import clean_environment, receiver
from tests.unit.jobs.metrics.test_telemetry import Receiver, by_labels, receiving
from windowing.model import Pipeline, parse_pipeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


PIPELINE = """
name: p
source: {{topic: {topic}, partitions: 2, format: json, fields: {{v: int}}, disorder: ordered,
  event_time: {{field: ts, unit: us, min: "1970-01-01"}}}}
shards: 2
queries:
  kept: {{window: RANGE 4 us SLIDE 4 us WATTR ts, aggregates: {{n: count}}}}
  lost: {{window: RANGE 4 us SLIDE 4 us WATTR ts, aggregates: {{n: count}}, late: {{policy: drop}}}}
  mended: {{window: RANGE 4 us SLIDE 4 us WATTR ts, aggregates: {{n: count}}, retention: 1000 us,
    late: {{policy: update, every: 4 us}}}}
"""


class Scrapes:
    """What somebody saw at a run's endpoint while its job ran, the last time."""

    def __init__(self, folder: Path) -> None:
        self.text, self._folder, self._ended = "", folder, threading.Event()
        self._thread = threading.Thread(target=self._scrape)

    def __enter__(self) -> Scrapes:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _scrape(self) -> None:
        while not self._ended.wait(0.05):
            try:
                if url := address_of(self._folder):
                    self.text = httpx.get(url, trust_env=False).text
            except httpx.TransportError:
                continue  # not yet, or not any more


@pytest.fixture
def pipeline(spark: SparkSession, kafka_broker: str) -> Iterator[Pipeline]:
    made = parse_pipeline(PIPELINE.format(topic=f"metrics-{uuid.uuid4().hex[:8]}"))
    create_topics(made, kafka_broker)
    yield made
    spark.catalog.clearCache()


def run(pipeline: Pipeline, broker: str, root: Path, *more: str, max_offsets: int = 16) -> str:
    """Take what is there, in several batches; return what was last scraped."""
    from jobs.pipeline import main

    (root / "run").mkdir(exist_ok=True)
    (root / "p.yml").write_text(pipeline.text)
    args = [str(root / "p.yml"), "--run", "r1", "--bootstrap", broker, "--available-now"]
    args += ["--checkpoint", str(root / "run" / "checkpoint"), "--table", str(root / "tables")]
    with Scrapes(root / "run") as scrapes:
        assert main([*args, "--max-offsets", str(max_offsets), *more]) == 0
    assert not (root / "run" / "failure.json").exists()
    return scrapes.text


def send(pipeline: Pipeline, broker: str) -> None:
    """Both lanes go on; in lane 0 records come late, and one has a value that is none."""
    times = [*range(12), 1, 2, *range(12, 24), 3]
    rows = [(0, json.dumps({"ts": ts, "v": ts}).encode(), None) for ts in times]
    rows += [(0, b'{"ts": 30, "v": "many"}', None)]
    rows += [(1, json.dumps({"ts": ts, "v": ts}).encode(), None) for ts in range(24)]
    send_all(broker, pipeline.source.topic, rows)


def table(root: Path, name: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = (
        DeltaTable(str(root / "tables" / name)).to_pyarrow_table().to_pylist()
    )
    return found


def check_sent(collector: Receiver, records: Mapping[str, int]) -> None:
    """The last export has as many records of each lane."""
    sent = by_labels(collector.last()["slackwater_records"].sum.data_points, "p")
    assert {labels[0][1]: point.as_double for labels, point in sent.items()} == records


def check_kept(root: Path, rows: Mapping[str, int], letters: int) -> None:
    """The driver has left for overviews as many rows of each query, and as many dead letters."""
    known = cache.load(root / "run", root / "tables")
    assert {name: one.rows for name, one in known.results.items()} == rows
    assert known.dead is not None
    assert sum(one.count for one in known.dead.reasons.values()) == letters


def test_lines_and_endpoint_say_what_tables_hold(
    pipeline: Pipeline, kafka_broker: str, tmp_path: Path
) -> None:
    send(pipeline, kafka_broker)
    with clean_environment(), receiver() as (url, events), receiving() as collector:
        told = {"OPENLINEAGE_URL": url, "OPENLINEAGE_NAMESPACE": "here"}
        told["OTEL_EXPORTER_OTLP_ENDPOINT"] = collector.url
        variables = write_environment(tmp_path, told)
        text = run(pipeline, kafka_broker, tmp_path, "--environment", str(variables))
    lines, topic = read_lines(tmp_path / "run"), pipeline.source.topic
    batches = Counter(row["batch_id"] for row in table(tmp_path, "metrics"))
    assert [line["batch_id"] for line in lines] == sorted(batches) == [*range(len(lines))]
    assert len(lines) > 2

    rows = {name: table(tmp_path, name) for name in ("kept", "lost", "mended")}
    letters = table(tmp_path, "dead_letters")
    for line in lines:
        here = [r for name in rows for r in rows[name] if r["batch_id"] == line["batch_id"]]
        assert line["rows"] == len(here)
        assert line["revisions"] == sum(row["pane"] == "late" for row in here)
        dead = Counter(r["reason"] for r in letters if r["batch_id"] == line["batch_id"])
        assert line["dead"] == dead
        assert line["batch_ms"] >= line["stages_ms"]["addBatch"] > 0
        assert line["state_bytes"] > 0
        assert line["state_rows"] is None
    assert sum(line["revisions"] for line in lines) > 0
    assert sum(line["dead"].get("late", 0) for line in lines) == 3, "those of `kept`"
    assert sum(line["late"] for line in lines) == 6, "and those that `lost` drops"
    assert sum(line["rows_in"] for line in lines) == 52
    last = lines[-1]["lanes"]
    assert last[f"{topic}/0"]["offset"] == last[f"{topic}/0"]["end"] == 28
    assert last[f"{topic}/1"]["progress"] == "1970-01-01T00:00:00.000023+00:00"
    totals = Counter(dict.fromkeys(last, 0))
    for line in lines:
        totals.update({lane: told["records"] for lane, told in line["lanes"].items()})
    assert totals == {f"{topic}/0": 28, f"{topic}/1": 24}

    check_sent(collector, totals)
    check_kept(tmp_path, {name: len(found) for name, found in rows.items()}, len(letters))

    assert events[0]["eventType"] == "START"
    assert {one["name"] for one in events[0]["outputs"]} == {
        str(tmp_path / "tables" / name) for name in rows
    }
    assert events[-1]["eventType"] == "COMPLETE"
    facet = events[-1]["run"]["facets"]["slackwater_windows"]
    assert facet["lanes"][f"{topic}/0"] == {
        name: last[f"{topic}/0"][name] for name in ("progress", "offset", "end")
    }
    assert facet["windows"]["mended"] == Counter(row["pane"] for row in rows["mended"])

    families = {family.name: family for family in text_string_to_metric_families(text)}
    seen = {s.labels["lane"]: s.value for s in families["slackwater_records"].samples}
    # The last scrape may be from before the last batch.
    assert 0 < sum(seen.values()) <= 52
    assert families["slackwater_batches"].samples[0].labels == {"pipeline": "p", "run": "r1"}
    stages = {s.labels["stage"] for s in families["slackwater_batch_stage_seconds"].samples}
    assert {"addBatch", "walCommit", "queryPlanning", "latestOffset", "getBatch"} <= stages
    assert address_of(tmp_path / "run") is None


def test_files_of_executors_are_counted_and_no_disk_fails_the_job(
    pipeline: Pipeline,
    kafka_broker: str,
    tmp_path: Path,
    spark: SparkSession,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from windowing.spark.sinks.data_files import INLINE_SETTING

    send(pipeline, kafka_broker)
    spark.conf.set(INLINE_SETTING, "0")
    try:
        run(pipeline, kafka_broker, tmp_path, max_offsets=1000)
    finally:
        spark.conf.unset(INLINE_SETTING)
    [line] = read_lines(tmp_path / "run")
    assert line["rows"] == sum(len(table(tmp_path, name)) for name in ("kept", "lost", "mended"))
    assert line["dead"] == Counter(row["reason"] for row in table(tmp_path, "dead_letters"))
    assert line["late"] == 6
    assert line["lanes"][f"{pipeline.source.topic}/0"]["dead"] == 4

    (tmp_path / "run" / LINES_FILE).unlink()
    (tmp_path / "run" / LINES_FILE).mkdir()
    send_all(kafka_broker, pipeline.source.topic, [(1, b'{"ts": 40, "v": 1}', None)])
    run(pipeline, kafka_broker, tmp_path)
    assert "metrics: figures of batches are missing: IsADirectoryError" in capsys.readouterr().err
    assert {row["batch_id"] for row in table(tmp_path, "metrics")} == {0, 1}


class Judgements:
    """What somebody judged of a run while its job ran: by the definition, and by expectations."""

    def __init__(self, pipeline: Pipeline, broker: str, root: Path) -> None:
        self._pipeline, self._broker, self._root = pipeline, broker, root
        self.found: dict[int, list[str]] = {}

    def look(self) -> None:
        """Judge the run at the cut that it has now."""
        source, tables = self._pipeline.source, self._root / "tables"
        cut = Cut.of(self._root / "run" / "checkpoint", source)
        if not cut.batches:
            return
        log = [*read_topics(self._broker, source, None, cut.ends)]
        output = read_output(self._pipeline, tables, "r1", before=cut.batches)
        verdict = verify(self._pipeline, log, output, Means(jobs=1))
        docs = self._root / "docs"
        report = check(self._pipeline, tables, "r1", log, docs, before=cut.batches)
        wrong = [] if verdict.ok else verdict.lines()
        wrong += [one.sentence for one in report.results if not one.success]
        self.found.setdefault(cut.batches, []).extend(wrong)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Great Expectations' libraries
def test_a_job_is_judged_at_one_cut_while_its_batches_commit(
    pipeline: Pipeline, kafka_broker: str, tmp_path: Path
) -> None:
    """T1: red for no fault, since tables and topic were read at different moments."""
    names = [query.name for query in pipeline.flows]
    block = "quality:\n  - {expect_records_to_be_conserved: {}}\n" + "".join(
        f"  - {{query: {name}, expect_window_set_to_match_definition: {{}}}}\n" for name in names
    )
    judged = parse_pipeline(pipeline.text + block)
    send(pipeline, kafka_broker)
    found, ended = Judgements(judged, kafka_broker, tmp_path), threading.Event()

    def judge() -> None:
        while not ended.is_set():
            found.look()

    with ThreadPoolExecutor(1) as threads:
        judging = threads.submit(judge)
        try:
            run(pipeline, kafka_broker, tmp_path, max_offsets=6)
        finally:
            ended.set()
        judging.result()
    found.look()
    assert len(found.found) > 2, "it was judged at several cuts"
    assert {at: wrong for at, wrong in found.found.items() if wrong} == {}
