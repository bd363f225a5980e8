"""Events of lineage, received by an HTTP server as OpenLineage's own would be."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from infra.errors import SettingsError
from infra.monitoring_settings import lineage_settings
from jobs.metrics.lineage import Lineage, Subject
from jobs.metrics.lines import read_lines
from jobs.metrics.observer import Place, observed
from tests.unit.jobs.metrics.figures import TEXT, pipeline
from tests.unit.jobs.metrics.test_exposition import Query, place, two_batches
from windowing.model import parse_pipeline

RUN = "01941e9d-0a2c-7b11-8a2e-000000000000"


@contextmanager
def receiver(status: int = 200) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A server that keeps what it gets; yields its URL and the events."""
    events: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            assert self.path == "/api/v1/lineage"
            events.append(json.loads(body))
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", events
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def with_subject(folder: Path) -> Place:
    subject = Subject(pipeline(), "r1", "broker:9092,other:9092", folder / "tables")
    return replace(place(folder, None), subject=subject)


@contextmanager
def clean_environment() -> Iterator[None]:
    """Take back what is set meanwhile: OpenLineage's client sets its own variables."""
    before = dict(os.environ)
    for name in [name for name in before if name.startswith("OPENLINEAGE")]:
        del os.environ[name]
    os.environ["NO_PROXY"] = "127.0.0.1"
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@pytest.fixture(autouse=True)
def _environment() -> Iterator[None]:
    with clean_environment():
        yield


def test_a_run_tells_what_it_reads_and_writes_and_how_far_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with receiver() as (url, events):
        monkeypatch.setenv("OPENLINEAGE_URL", url)
        monkeypatch.setenv("OPENLINEAGE_NAMESPACE", "here")
        monkeypatch.setenv("OPENLINEAGE_PARENT_ID", f"airflow/tide.submit/{RUN}")
        with observed(with_subject(tmp_path)) as metrics:
            two_batches(metrics, Query())
    assert [event["eventType"] for event in events] == ["START", "COMPLETE"]
    assert len({event["run"]["runId"] for event in events}) == 1
    for event in events:
        assert (event["job"]["namespace"], event["job"]["name"]) == ("here", "tide")
        assert event["job"]["facets"]["jobType"]["processingType"] == "STREAMING"
        [read] = event["inputs"]
        assert (read["namespace"], read["name"]) == ("kafka://broker:9092", "levels")
        [written] = event["outputs"]
        assert (written["namespace"], written["name"]) == ("file", str(tmp_path / "tables" / "w"))
        parent = event["run"]["facets"]["parent"]
        assert parent["run"]["runId"] == RUN
        assert (parent["job"]["namespace"], parent["job"]["name"]) == ("airflow", "tide.submit")
    facet = events[1]["run"]["facets"]["slackwater_windows"]
    assert facet["batchId"] == 1
    assert facet["windows"] == {"w": {"full": 4, "late": 2}}
    assert facet["lanes"]["levels/0"]["offset"] == 6
    assert facet["lanes"]["levels/0"]["end"] == 9
    assert facet["lanes"]["levels/0"]["progress"] == "1970-01-01T00:00:04.000000+00:00"


def test_it_tells_once_a_minute_while_it_runs_and_at_last_that_it_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, line = [100.0], {"batch_id": 0, "lanes": {}}
    with receiver() as (url, events):
        monkeypatch.setenv("OPENLINEAGE_URL", url)
        lineage = Lineage(Subject(pipeline(), "r1", "b:1", tmp_path), lambda: now[0])
        lineage.begin()
        for second in (110, 150, 161, 170, 240):
            now[0] = second
            while not lineage.is_idle:
                pass
            lineage.batch({**line, "batch_id": second}, None)
        lineage.end(ValueError("no space"))
    sent = [(event["eventType"], event["run"]["facets"]) for event in events]
    assert [name for name, _ in sent] == ["START", "RUNNING", "RUNNING", "FAIL"]
    assert [facets["slackwater_windows"]["batchId"] for _, facets in sent[1:]] == [161, 240, 240]
    assert sent[-1][1]["errorMessage"]["message"] == "ValueError: no space"


def test_a_server_that_refuses_fails_no_job_and_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with receiver(status=400) as (url, events):
        monkeypatch.setenv("OPENLINEAGE_URL", url)
        with observed(with_subject(tmp_path)) as metrics:
            two_batches(metrics, Query())
    assert len(events) == 2
    assert capsys.readouterr().err.count("lineage: events cannot be sent") == 1
    assert len(read_lines(tmp_path)) == 2


def test_wrong_settings_fail_no_job_and_are_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__TYPE", "pigeon")
    with observed(with_subject(tmp_path)) as metrics:
        two_batches(metrics, Query())
    assert "lineage: the client's settings are wrong: " in capsys.readouterr().err
    assert len(read_lines(tmp_path)) == 2


def test_without_settings_nothing_is_sent(tmp_path: Path) -> None:
    with observed(with_subject(tmp_path)):
        assert not any(thread.name == "lineage" for thread in threading.enumerate())


def test_tables_in_postgres_have_their_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGHOST", "db")
    monkeypatch.setenv("PGDATABASE", "windows")
    monkeypatch.delenv("PGPORT", raising=False)
    text = TEXT.replace("LANES", "1") + "sink: {postgres: tides}\n"
    [one] = Subject(parse_pipeline(text), "r1", "b:1", tmp_path).outputs()
    assert (one.namespace, one.name) == ("postgres://db:5432", "windows.tides.w")


def test_what_a_driver_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENLINEAGE_URL", "http://127.0.0.1:5000")
    monkeypatch.setenv("OPENLINEAGE_API_KEY", "secret")
    assert lineage_settings() == {"OPENLINEAGE_URL": "http://127.0.0.1:5000"}
    monkeypatch.setenv("OPENLINEAGE_URL", "http://" + "me:secret@127.0.0.1:5000")
    with pytest.raises(SettingsError, match="contains a login"):
        lineage_settings()
