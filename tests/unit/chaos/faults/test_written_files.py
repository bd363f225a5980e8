"""Faults between files and commit, of a real process that writes real tables."""

from __future__ import annotations

import random
import signal
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from chaos.control.node_control import LocalNodeControl
from chaos.errors import FaultDidNotApply
from chaos.faults import FAULTS, written_files
from chaos.faults.fault import FaultContext
from infra import process
from infra.endpoints import Endpoints
from infra.layout import Layout
from infra.process import ProcessId, is_alive
from infra.spark_processes import ClusterProcess
from tests.unit.sinks.test_sink_tokens import PIPELINE
from windowing.model import parse_pipeline

WRITER = """
import sys, time
from pathlib import Path
from tests.unit.sinks.test_data_files import in_files
from tests.unit.sinks.test_sink_tokens import PIPELINE, batches
from windowing.spark.sinks.table import TableSink

sink = TableSink(PIPELINE, Path(sys.argv[1]), "r1")
for number, frames in enumerate(batches(*range(3, 300, 3))):
    time.sleep(0.1)
    found = in_files(sink, frames, number)
    time.sleep(float(sys.argv[2]))
    sink.take(found, number)
"""
"""A driver and its executors as one process, with a pause between files and commit."""

_NAMES = ("kill_executors_before_commit", "kill_driver_before_commit")


class Nodes(LocalNodeControl):
    """A machine on which one process stands for each one that the fault looks for."""

    victim: ProcessId

    def children(self, name: str) -> list[ClusterProcess]:
        if name != "spark-worker-1":
            return []
        return [ClusterProcess(kind, "job", "0", self.victim) for kind in ("executor", "driver")]


@pytest.fixture
def context(tmp_path: Path) -> FaultContext:
    (tmp_path / "tables").mkdir()
    return FaultContext(
        endpoints=Endpoints("127.0.0.1:1", "", "", "", "", "", "", tmp_path, ""),
        pipeline=PIPELINE,
        topic="s",
        checkpoint=tmp_path,
        nodes=Nodes(Layout(tmp_path)),
        rng=random.Random(1),
        stop_job=lambda: None,
        submit_job=lambda share=1.0: None,
        restart=lambda name: None,
        tables=tmp_path / "tables",
    )


@pytest.fixture
def victim(context: FaultContext, request: pytest.FixtureRequest) -> Iterator[ProcessId]:
    """A writer that pauses for as long as the test says."""
    command = [sys.executable, "-c", WRITER, str(context.tables), str(request.param)]
    root = Path(__file__).parents[4]
    started = process.start(
        command, log=context.checkpoint / "log", environment={"PYTHONPATH": str(root)}, cwd=root
    )
    assert isinstance(context.nodes, Nodes)
    context.nodes.victim = started
    yield started
    process.send(started, signal.SIGKILL)


@pytest.mark.parametrize("victim", [1.0], indirect=True)
@pytest.mark.parametrize("name", _NAMES)
def test_the_kill_comes_between_a_file_and_its_commit(
    name: str, context: FaultContext, victim: ProcessId
) -> None:
    evidence = FAULTS[name].make().inject(context)
    assert not is_alive(victim)
    written, named = written_files._files(context), written_files._committed(context)
    (left,) = written - named
    assert evidence == f"pid {victim.pid} is gone; {left.name} is written, and no commit names it"


def test_without_a_file_nothing_is_killed(
    context: FaultContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(FaultDidNotApply, match="no executor runs"):
        FAULTS["kill_executors_before_commit"].make().inject(
            replace(context, nodes=LocalNodeControl(Layout(context.checkpoint)))
        )
    assert isinstance(context.nodes, Nodes)
    context.nodes.victim = ProcessId(1, 0)
    monkeypatch.setattr(written_files, "_WRITTEN_S", 0.05)
    with pytest.raises(FaultDidNotApply, match="no file of a table was written"):
        FAULTS["kill_executors_before_commit"].make().inject(context)


@pytest.mark.parametrize("name", _NAMES)
def test_a_pipeline_without_tables_does_not_fit(name: str) -> None:
    assert not [*FAULTS[name].misfits(PIPELINE)]
    postgres = parse_pipeline(PIPELINE.text + "sink: {postgres: p}\n")
    (why,) = FAULTS[name].misfits(postgres)
    assert "files of tables" in why
