"""L4: where rows go if the file names no sink: one rule, in `validate`, the DAG and the job."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from dags.entities import read_deployments
from infra.endpoints import Endpoints
from jobs import runs
from jobs.runs.placement import place
from slackwater.main import app
from windowing.model import load_pipeline

PIPELINE = """
name: tides
source: {topic: s, partitions: 1, format: json, event_time: {field: ts, unit: us}, fields: {},
  disorder: ordered}
queries:
  q: {window: RANGE 1 hour SLIDE 1 hour WATTR ts, aggregates: {n: count}}
"""


@pytest.mark.parametrize(
    ("sink", "name"), [("", "tides"), ("sink: {table: ebb}\n", "ebb"), ("sink:\n", "tides")]
)
def test_one_rule_for_the_name_of_the_tables(tmp_path: Path, sink: str, name: str) -> None:
    file = tmp_path / "tides.yml"
    file.write_text(PIPELINE + sink)
    result = CliRunner().invoke(app, ["validate", str(file)])
    assert result.exit_code == 0, result.output
    (deployment,), broken = read_deployments(tmp_path, tmp_path)
    assert not broken
    assert (deployment.table, deployment.asset_uri) == (name, f"slackwater://tides/{name}")
    pipeline = load_pipeline(file)
    endpoints = Endpoints("", "", "", "", "", "", "", tmp_path, "")
    assert runs.table_of(endpoints, pipeline) == tmp_path / "tables" / name
    assert place(pipeline, lambda _: []).name == name
