"""Identity faults of a stand-in for a job: what they remove, restore, and report."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

import pytest

from chaos.control.node_control import LocalNodeControl
from chaos.errors import FaultDidNotApply
from chaos.faults.fault import FaultContext
from chaos.faults.identity import LoseTable, RestoreOldCheckpoint, SecondDriver
from infra.endpoints import Endpoints
from infra.layout import Layout
from jobs.runs.owner import OWNER_FILE
from windowing.model import load_pipeline

PIPELINE = Path(__file__).parents[4] / "pipelines" / "flight_delays.yml"


class Job:
    """Commits five more batches each time it is submitted, unless a table is missing."""

    def __init__(self, folder: Path) -> None:
        self.checkpoint, self.tables = folder / "checkpoint", folder / "tables"
        self.error: str | None = None
        self.shares: list[float] = []
        (self.checkpoint / "commits").mkdir(parents=True)
        for name in ("hourly", "metrics"):
            (self.tables / name / "_delta_log").mkdir(parents=True)
        self.submit()

    def stop(self) -> None:
        pass

    def submit(self, share: float = 1.0) -> None:
        self.shares.append(share)
        lost = {"hourly", "metrics"} - {path.name for path in self.tables.iterdir()}
        self.error = f"table {lost.pop()} is missing: put it back" if lost else None
        commits = self.checkpoint / "commits"
        done = len(list(commits.iterdir()))
        for batch in range(done, done if self.error else done + (5 if share == 1 else 9)):
            (commits / str(batch)).touch()


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job(tmp_path)


@pytest.fixture
def context(job: Job, tmp_path: Path) -> FaultContext:
    endpoints = Endpoints("127.0.0.1:1", "", "", "", "", "", "", tmp_path, "")
    return FaultContext(
        endpoints=endpoints,
        pipeline=load_pipeline(PIPELINE),
        topic="t",
        checkpoint=job.checkpoint,
        nodes=LocalNodeControl(Layout(tmp_path)),
        rng=random.Random(1),
        stop_job=job.stop,
        submit_job=job.submit,
        restart=lambda name: None,
        job_error=lambda: job.error,
        tables=job.tables,
    )


def test_an_older_checkpoint_is_in_place_and_cuts_other_batches(
    job: Job, context: FaultContext
) -> None:
    attack = RestoreOldCheckpoint()
    said = attack.inject(context)
    assert said == "the checkpoint of after batch 4 is in place of that of after batch 9"
    assert job.shares[-1] != job.shares[-2] == 1.0
    assert context.losses[-1].said is None
    assert not job.checkpoint.with_name("checkpoint-copy").exists()
    assert attack.heal(context)


def test_a_table_is_gone_and_put_back(job: Job, context: FaultContext) -> None:
    before = sorted(job.tables.rglob("*"))
    attack = LoseTable()
    evidence = attack.inject(context)
    (named,) = context.losses
    assert named.said is not None
    assert not named.missing
    assert named.wanted[0] in evidence
    attack.heal(context)
    assert sorted(job.tables.rglob("*")) == before
    assert job.error is None


def test_a_job_without_tables_can_lose_none(context: FaultContext, tmp_path: Path) -> None:
    context.tables = tmp_path / "none"
    attack = LoseTable()
    with pytest.raises(FaultDidNotApply, match="holds no tables"):
        attack.inject(context)
    assert attack.heal(context)


def test_there_is_no_second_driver_without_a_first(context: FaultContext) -> None:
    with pytest.raises(FaultDidNotApply, match="no driver has the run"):
        SecondDriver().inject(context)


def test_a_driver_that_ignores_the_first_is_seen(
    context: FaultContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from chaos.faults import identity

    (tmp_path / OWNER_FILE).write_text(json.dumps({"pid": 1, "host": "h"}))
    command = [sys.executable, "-c", "import time; time.sleep(60)"]
    monkeypatch.setattr(identity, "_command", lambda context: command)
    SecondDriver(patience_s=0.5).inject(context)
    assert context.losses[0].said is None
