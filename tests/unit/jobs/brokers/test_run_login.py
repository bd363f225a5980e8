"""What a submitted run knows of a cluster that wants a login: where it stands, never what it is.

The master is a stand-in that keeps what it is sent.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from infra.endpoints import Endpoints
from infra.kafka_settings import FILE_VARIABLE, PREFIX, settings
from infra.layout import ROOT
from jobs import runs
from jobs.runs.job_order import read_environment
from tests.unit.jobs.master import Master
from windowing.model import load_pipeline

SECRET = "hunter2-of-the-tide"  # noqa: S105 - invented
PIPELINE = ROOT / "pipelines" / "flight_delays.yml"


def test_a_run_gets_a_file_and_stop_takes_it_away(
    master: Master, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, sent = master.url, master.sent
    given = {"BOOTSTRAP": "one:9093", "SASL_MECHANISM": "PLAIN", "USERNAME": "tide"}
    for name, value in (given | {"PASSWORD": SECRET}).items():
        monkeypatch.setenv(f"{PREFIX}{name}", value)
    endpoints = Endpoints("one:9093", "spark://one:7077", place, place, "", "", "", tmp_path, "")
    pipeline = load_pipeline(PIPELINE)
    run = runs.submit(endpoints, pipeline, PIPELINE, "r1")
    (request,) = sent
    arguments = json.loads(request)["appArgs"]
    file = Path(arguments[arguments.index("--kafka") + 1])
    assert file.is_relative_to(run.folder)
    assert SECRET not in request
    again = settings({FILE_VARIABLE: str(file)})
    assert again is not None
    assert again.sasl is not None
    assert again.sasl.secret() == SECRET
    for path in (file.parent, *file.parent.iterdir()):
        assert path.stat().st_mode & 0o077 == 0
    holders = [path for path in tmp_path.rglob("*") if path.is_file()]
    holders = [path for path in holders if SECRET in path.read_text(errors="replace")]
    assert [path.parent for path in holders] == [file.parent]
    assert runs.stop(endpoints, pipeline) == ["r1"]
    assert not file.parent.exists()


def test_a_run_that_died_keeps_no_login_once_another_has_its_place(
    master: Master, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the folders of jobs that lived were cleaned: those of dead ones kept the password."""
    place = master.url
    for name, value in (("BOOTSTRAP", "one:9093"), ("SASL_MECHANISM", "PLAIN"), ("USERNAME", "u")):
        monkeypatch.setenv(f"{PREFIX}{name}", value)
    monkeypatch.setenv(f"{PREFIX}PASSWORD", SECRET)
    endpoints = Endpoints("one:9093", "spark://one:7077", place, place, "", "", "", tmp_path, "")
    pipeline = load_pipeline(PIPELINE)
    first = runs.submit(endpoints, pipeline, PIPELINE, "r1")
    master.states[first.submission_id] = "FAILED"
    second = runs.submit(endpoints, pipeline, PIPELINE, "r2")
    assert [(one.folder / "kafka").exists() for one in (first, second)] == [False, True]
    master.states[second.submission_id] = "KILLED"  # by somebody at the master
    assert runs.stop(endpoints, pipeline) == []
    assert not (second.folder / "kafka").exists()


def test_what_a_driver_knows_of_receivers_is_in_a_private_file(
    master: Master, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A path may be a key, as those of many receivers are; a command line is everybody's."""
    place, key = master.url, "v1/ingest/key-of-the-tide"
    monkeypatch.setenv("OPENLINEAGE_URL", f"http://127.0.0.1:1/{key}")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:2/{key}")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", f"key={key}")
    endpoints = Endpoints("one:9092", "spark://one:7077", place, place, "", "", "", tmp_path, "")
    pipeline = load_pipeline(PIPELINE)
    run = runs.submit(endpoints, pipeline, PIPELINE, "r1")
    (request,) = master.sent
    assert key not in request
    arguments = json.loads(request)["appArgs"]
    file = Path(arguments[arguments.index("--environment") + 1])
    assert file.parent == run.folder
    assert file.stat().st_mode & 0o077 == 0
    assert read_environment(file).keys() == {
        "OPENLINEAGE_URL",
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        "OTEL_RESOURCE_ATTRIBUTES",
    }
    assert runs.stop(endpoints, pipeline) == ["r1"]
    assert not file.exists()


def test_a_broker_without_a_login_takes_no_file(master: Master, tmp_path: Path) -> None:
    place, sent = master.url, master.sent
    endpoints = Endpoints("one:9092", "spark://one:7077", place, place, "", "", "", tmp_path, "")
    runs.submit(endpoints, load_pipeline(PIPELINE), PIPELINE, "r1")
    assert "--kafka" not in json.loads(sent[0])["appArgs"]
