"""New partitions are named wherever they are met, and join a run that nobody works on."""

from __future__ import annotations

import uuid
from pathlib import Path
from types import SimpleNamespace

import pytest

from jobs.brokers.topics import add_partitions, create_topics
from jobs.checkpoints import partitions
from jobs.checkpoints.partitions import PartitionsError, accept, look
from jobs.runs import Run
from tests.unit.jobs.brokers.test_topics import pipeline
from windowing.model import parse_pipeline
from windowing.model.file.versions import with_lanes
from windowing.model.run_errors import UndeclaredPartition

NAMED = r"/2 is a partition that the pipeline does not declare .*--accept-partitions"


@pytest.fixture
def topic(kafka_broker: str) -> str:
    """A topic that has a partition more than was declared."""
    name = f"grown-{uuid.uuid4().hex[:8]}"
    create_topics(pipeline(name), kafka_broker)
    add_partitions(kafka_broker, name, 3)
    return name


def test_what_spark_reports_is_looked_at() -> None:
    source = pipeline("t").source
    known = SimpleNamespace(endOffset='{"t": {"0": 5, "1": 0}}', latestOffset=None)
    look(None, source)
    look(SimpleNamespace(sources=[known]), source)
    for offsets in ('{"t": {"0": 5, "2": 0}}', '{"t": {"2": 7}}'):
        latest = SimpleNamespace(endOffset=known.endOffset, latestOffset=offsets)
        with pytest.raises(UndeclaredPartition, match=NAMED):
            look(SimpleNamespace(sources=[latest]), source)


def test_none_joins_a_run_whose_queries_the_log_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would have no copy of the change, which is taken once every lane has one."""
    added = "q: {joined: {t/0: 3, t/1: 0}, from: '1970-01-01T01:00:00Z', "
    spec = parse_pipeline(pipeline("t").text.replace("q: {", added))
    (tmp_path / "p.yml").write_text(spec.text)
    run = Run("p", "r1", "driver-1", tmp_path, tmp_path, tmp_path, tmp_path / "p.yml")
    monkeypatch.setattr(partitions, "_new", lambda source, _: [(source, 2)])
    with pytest.raises(PartitionsError, match="start a new run"):
        accept(run, spec, "127.0.0.1:1")
    assert (tmp_path / "p.yml").read_text() == spec.text


def test_a_record_replaces_an_earlier_one() -> None:
    spec = pipeline("t")
    joined = parse_pipeline(
        spec.text.replace("partitions: 2", "partitions: 3\n  joined: {t/2: {lane: 2, at: {ts: 5}}}")
    )
    assert with_lanes(spec, joined.source.added_lanes).fingerprint == joined.fingerprint
    assert with_lanes(joined, joined.source.added_lanes).fingerprint == joined.fingerprint
