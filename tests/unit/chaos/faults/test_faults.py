"""Faults of real processes, and their errors when they do not apply."""

import random
import re
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from chaos import faults
from chaos.errors import Unsupported
from chaos.faults import FAULTS, FaultContext, FaultDidNotApply, LocalNodeControl, fault_named
from chaos.faults.checkpoint import LoseLastCommit
from chaos.verdict.catalogue import CHECKS
from infra import process
from infra.endpoints import Endpoints
from infra.layout import Layout
from infra.process import ProcessId, is_alive
from windowing.model import load_pipeline

PIPELINE = Path(__file__).parents[4] / "pipelines" / "flight_delays.yml"


@pytest.fixture
def victim(tmp_path: Path) -> Iterator[ProcessId]:
    command = [sys.executable, "-c", "import time; time.sleep(60)"]
    one = process.start(command, log=tmp_path / "log", environment={}, cwd=tmp_path)
    yield one
    process.send(one, signal.SIGKILL)


@pytest.fixture
def nodes(tmp_path: Path) -> LocalNodeControl:
    return LocalNodeControl(Layout(tmp_path))


def test_a_killed_process_is_seen_to_be_gone(nodes: LocalNodeControl, victim: ProcessId) -> None:
    assert nodes.kill(victim) == f"pid {victim.pid} is gone"
    assert not is_alive(victim)
    with pytest.raises(FaultDidNotApply, match="had ended before the fault"):
        nodes.kill(victim)


def test_a_paused_process_is_seen_to_be_stopped_and_goes_on(
    nodes: LocalNodeControl, victim: ProcessId
) -> None:
    assert nodes.pause(victim) == f"pid {victim.pid} is stopped"
    assert nodes.is_paused(victim)
    assert nodes.resume(victim) == f"pid {victim.pid} goes on"
    until = time.monotonic() + 5
    while nodes.is_paused(victim):
        assert time.monotonic() < until
        time.sleep(0.02)
    nodes.kill(victim)
    assert nodes.resume(victim) == f"pid {victim.pid} is gone meanwhile"
    with pytest.raises(FaultDidNotApply):
        nodes.pause(victim)


def test_a_pid_that_belongs_to_another_now_is_not_touched(
    nodes: LocalNodeControl, victim: ProcessId
) -> None:
    with pytest.raises(FaultDidNotApply):
        nodes.kill(ProcessId(victim.pid, victim.started - 1))
    assert is_alive(victim)


def test_a_process_of_this_machine_has_no_network_to_be_taken_from(nodes: LocalNodeControl) -> None:
    with pytest.raises(Unsupported, match="kafka shares this machine's network"):
        nodes.disconnect("kafka")
    with pytest.raises(Unsupported, match="--stack containers"):
        nodes.lose_packets("kafka", 0.5)
    assert nodes.restore_packets("kafka") == 0


def test_the_readme_has_a_row_for_every_fault_and_check() -> None:
    text = (PIPELINE.parents[1] / "chaos" / "README.md").read_text(encoding="utf-8")
    rows = (line.split("|")[1] for line in text.splitlines() if line.startswith("| `"))
    named = {name for first in rows for name in re.findall(r"`(\w+)`", first)}
    assert {*FAULTS, *CHECKS} <= named


def test_what_no_fault_can_follow_ends_the_run_or_needs_the_reserve() -> None:
    last = {name for name, kind in FAULTS.items() if kind.last_because}
    assert last == {"delete_records", "recreate_topic", "silent_partition", "hostile_producer"}


def test_a_fault_takes_its_parameters_from_the_plan() -> None:
    assert fault_named("kill_broker", hold_s=7.0).hold_s == 7.0
    assert vars(fault_named("duplicate_sends", records=9))["records"] == 9


def test_without_a_job_no_fault_applies(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    with pytest.raises(FaultDidNotApply, match="no executor runs on the cluster"):
        faults.strike(lambda: faults.kill_executor(layout), batches=1)
    with pytest.raises(FaultDidNotApply, match="no driver runs"):
        faults.kill_driver(layout)


class Job:
    """A stand-in for a job: when submitted, it reruns the batch whose commit is lost."""

    def __init__(self, commits: Path, works: bool = True) -> None:
        self.commits, self.works, self.calls = commits, works, [""]

    def stop(self) -> None:
        self.calls.append("stop")

    def submit(self) -> None:
        self.calls.append("submit")
        if self.works:
            (self.commits / "11").touch()


def context_of(job: Job, folder: Path) -> FaultContext:
    endpoints = Endpoints("127.0.0.1:9092", "", "", "", "", "", "", folder, "")
    return FaultContext(
        endpoints=endpoints,
        pipeline=load_pipeline(PIPELINE),
        topic="t",
        checkpoint=folder,
        nodes=LocalNodeControl(Layout(folder)),
        rng=random.Random(1),
        stop_job=job.stop,
        submit_job=job.submit,
        restart=lambda name: None,
    )


@pytest.fixture
def commits(tmp_path: Path) -> Path:
    folder = tmp_path / "commits"
    folder.mkdir()
    for name in ("9", "10", "11", ".9.crc", ".11.crc"):
        (folder / name).touch()
    return folder


def test_the_last_commit_is_lost_while_the_job_stands(commits: Path, tmp_path: Path) -> None:
    job, attack = Job(commits), LoseLastCommit()
    context = context_of(job, tmp_path)
    assert attack.inject(context) == "commits/11 is deleted"
    assert sorted(path.name for path in commits.iterdir()) == [".9.crc", "10", "9"]
    assert job.calls == ["", "stop"]
    assert attack.heal(context) == "batch 11 was run again"
    assert job.calls == ["", "stop", "submit"]


def test_a_lost_commit_that_is_not_rerun_is_not_evidence(
    commits: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chaos.faults.checkpoint._DONE_AGAIN_S", 0.1)
    attack = LoseLastCommit()
    context = context_of(Job(commits, works=False), tmp_path)
    attack.inject(context)
    with pytest.raises(FaultDidNotApply, match="batch 11 was not run again"):
        attack.heal(context)


@pytest.mark.parametrize(
    "name", ["kill_broker", "pause_broker", "kill_spark_worker", "roll_spark_workers"]
)
def test_no_fault_applies_to_a_stopped_daemon(name: str, tmp_path: Path) -> None:
    with pytest.raises(FaultDidNotApply, match=r"no daemon .* is running"):
        fault_named(name).inject(context_of(Job(tmp_path), tmp_path))


def test_without_commits_none_can_be_lost_and_the_job_runs_on(tmp_path: Path) -> None:
    job, attack = Job(tmp_path, works=False), LoseLastCommit()
    context = context_of(job, tmp_path)
    with pytest.raises(FaultDidNotApply, match="0 batches are committed"):
        attack.inject(context)
    assert attack.heal(context) == "job submitted again"


def checkpoint_of(folder: Path, batches: int = 3) -> Path:
    """A checkpoint as Spark writes it, with one state file per batch."""
    for name in ("offsets", "commits", "state/0/0"):
        (folder / name).mkdir(parents=True)
    for batch in range(batches):
        ends = f'{{"t": {{"0": {10 * (batch + 1)}}}}}'
        (folder / "offsets" / str(batch)).write_text(f"v1\n{{}}\n{ends}")
        (folder / "offsets" / f".{batch}.crc").touch()
        (folder / "commits" / str(batch)).write_text(f'v2\n{{"ids":"u{batch}"}}')
        for name in (f"{batch + 1}_u{batch}.changelog", f"{batch + 1}_other.changelog"):
            (folder / "state/0/0" / name).write_bytes(bytes(range(64)))
    return folder


def test_a_damaged_file_is_the_one_that_counts_and_is_put_back(tmp_path: Path) -> None:
    checkpoint = checkpoint_of(tmp_path)
    before = {path: path.read_bytes() for path in checkpoint.rglob("*") if path.is_file()}
    for name, file in (
        ("delete_state_delta", "state/0/0/3_u2.changelog"),
        ("corrupt_state_delta", "state/0/0/3_u2.changelog"),
        ("delete_offsets", "offsets/2"),
        ("corrupt_offsets", "offsets/2"),
    ):
        context = context_of(Job(tmp_path, works=False), checkpoint)
        context.job_error = lambda said=f"{file} is gone": said
        attack = fault_named(name)
        assert file in attack.inject(context)
        damaged = checkpoint / file
        assert not damaged.exists() or damaged.read_bytes() != before[damaged]
        assert context.losses[0].missing == ()
        attack.heal(context)
        found = {path: path.read_bytes() for path in checkpoint.rglob("*") if path.is_file()}
        assert found == before


def test_rewound_offsets_are_those_of_the_batch_before_and_are_put_back(tmp_path: Path) -> None:
    checkpoint = checkpoint_of(tmp_path)
    last = checkpoint / "offsets" / "2"
    whole = last.read_text()
    context = context_of(Job(tmp_path, works=False), checkpoint)
    context.job_error = lambda: "lane t/0 got offset 20 again"
    attack = fault_named("rewind_offsets")
    assert attack.inject(context) == "partition 0 is set back from 30 to 20; the job stopped"
    assert last.read_text() == whole.replace("30", "20")
    assert context.losses[0].missing == ()
    (checkpoint / "offsets" / "3").touch()  # what the job planned from the wrong place
    attack.heal(context)
    assert last.read_text() == whole
    assert not (checkpoint / "offsets" / "3").exists()


def test_without_state_there_is_nothing_to_damage(tmp_path: Path) -> None:
    for name in ("delete_state_delta", "corrupt_state_snapshot", "delete_offsets"):
        with pytest.raises(FaultDidNotApply, match="after 0 batches the checkpoint has no"):
            fault_named(name).inject(context_of(Job(tmp_path), tmp_path))
