"""Drivers of a run: what they are asked to do, what they note, where they are found, who waits."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from infra import stack
from infra.endpoints import Endpoints
from infra.errors import InfraError, NotReady
from infra.restarts import MayEnd, living_jobs
from infra.spark_room import room
from infra.spark_size import AT_ONCE_VARIABLE, borne, pipelines_at_once, size_for
from jobs import runs
from jobs.runs.attempts import (
    Attempt,
    Attempts,
    TooManyDeaths,
    forget_attempts,
    read_attempts,
)
from jobs.runs.job_order import JobOrder, job_name, parse_order, pipeline_and_run, run_of_job
from jobs.runs.life import DEATHS_MAX, SILENT_DEATHS_MAX, Deaths
from jobs.runs.targets import address_of, announce, targets_folder
from jobs.runs.waiting import said
from slackwater.main import app
from tests.unit.jobs.runs.test_runs import submit
from tests.unit.life.machine import BAD, FILE, GOOD
from tests.unit.life.pretended import PretendedCluster

PATHS = st.from_regex(r"/[a-z0-9 ._/]{1,20}", fullmatch=True).map(Path)
OFFSETS = st.dictionaries(st.integers(0, 9), st.integers(-2, 1 << 40))
ADDRESSES = st.tuples(st.sampled_from(["0.0.0.0", "::1", "worker-1"]), st.integers(0, 65_535))  # noqa: S104
NAMES = st.from_regex(r"[a-z][a-z0-9_-]{0,9}", fullmatch=True)
BY_HAND = ["p.yml", "--run", "r1", "--bootstrap", "one:9092", "--table", "tables"]
ORDERS = st.builds(
    JobOrder,
    file=PATHS,
    run=NAMES,
    bootstrap=st.just("one:9092"),
    folder=PATHS,
    checkpoint=PATHS,
    tables=PATHS,
    max_offsets=st.none() | st.integers(1),
    available_now=st.booleans(),
    parallelism=st.none() | st.integers(1, 64),
    first=st.none() | OFFSETS,
    end=st.none() | OFFSETS,
    metrics=st.none() | ADDRESSES,
    targets=st.none() | PATHS,
    environment=st.none() | PATHS,
    kafka=st.none() | PATHS,
)


@given(ORDERS)
def test_a_job_is_asked_what_was_meant(order: JobOrder) -> None:
    assert parse_order(order.arguments()) == order


def test_every_field_is_drawn() -> None:
    drawn = {field.name for field in fields(JobOrder)}
    assert all(f"{name}=" in repr(ORDERS) for name in drawn)


def test_a_job_started_by_hand_keeps_its_notes_above_its_checkpoint() -> None:
    order = parse_order([*BY_HAND, "--checkpoint", "runs/r1/checkpoint"])
    assert order.folder == Path("runs/r1")
    assert order == JobOrder(
        file=Path("p.yml"),
        run="r1",
        bootstrap="one:9092",
        folder=Path("runs/r1"),
        checkpoint=Path("runs/r1/checkpoint"),
        tables=Path("tables"),
    )


def test_a_store_without_atomic_renames_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse_order([*BY_HAND, "--checkpoint", "s3://bucket/r1"])
    assert "neither a folder nor hdfs://host:port" in capsys.readouterr().err


ERROR = Deaths(error=1, last="ValueError: no")


def begun(folder: Path) -> Attempt:
    attempt = Attempt(folder)
    attempt.begin()
    return attempt


def noted(folder: Path) -> Attempts:
    found = read_attempts(folder)
    assert found is not None
    return found


def test_the_last_of_several_deaths_is_final(tmp_path: Path) -> None:
    forget_attempts(tmp_path)
    for number in range(1, DEATHS_MAX):
        assert begun(tmp_path).died(ERROR) is None
        assert noted(tmp_path).deaths == Deaths(error=number, last="ValueError: no")
    final = begun(tmp_path).died(ERROR)
    assert final == "died 3 times without a batch in between, the last time of: ValueError: no"
    assert noted(tmp_path).begun == DEATHS_MAX


def test_a_batch_in_between_begins_the_count_anew(tmp_path: Path) -> None:
    for _ in range(5 * DEATHS_MAX):
        attempt = begun(tmp_path)
        attempt.is_well()
        assert noted(tmp_path).deaths.number == 0
        assert attempt.died(ERROR) is None
    assert noted(tmp_path).deaths == ERROR
    assert not noted(tmp_path).well


def test_an_outage_is_worth_every_restart(tmp_path: Path) -> None:
    for _ in range(50):
        assert begun(tmp_path).died(Deaths(outage=1, last="BrokerError: away")) is None
    assert noted(tmp_path).deaths.outage == 50


def test_a_driver_that_left_no_word_is_missed_by_the_next(tmp_path: Path) -> None:
    for number in range(SILENT_DEATHS_MAX):
        begun(tmp_path)
        assert noted(tmp_path).deaths.silent == number
    with pytest.raises(TooManyDeaths, match="was killed 10 times"):
        begun(tmp_path)


def test_one_that_was_well_and_is_killed_has_died_once(tmp_path: Path) -> None:
    begun(tmp_path).is_well()
    begun(tmp_path)
    assert noted(tmp_path).deaths == Deaths(silent=1)
    assert not noted(tmp_path).well


def test_one_that_ends_well_has_not_died(tmp_path: Path) -> None:
    begun(tmp_path).ended()
    begun(tmp_path)
    assert noted(tmp_path).deaths.number == 0


def test_the_end_of_an_earlier_submission_is_no_part_of_this_one(tmp_path: Path) -> None:
    late = begun(tmp_path)
    forget_attempts(tmp_path)
    assert late.died(ERROR) is None
    late.is_well()
    late.ended()
    assert noted(tmp_path) == Attempts()


def test_a_full_disk_neither_ends_a_job_nor_hides_what_it_dies_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    attempt = begun(tmp_path)

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", full)
        attempt.is_well()
        assert attempt.died(ERROR) is None
    assert "attempts.json cannot be written: [Errno 28] No space left" in capsys.readouterr().err
    assert not noted(tmp_path).well
    attempt.is_well()
    assert noted(tmp_path).well, "it is tried again"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[PretendedCluster]:
    with PretendedCluster(tmp_path / "state", BAD) as cluster:
        yield cluster


def found_run(cluster: PretendedCluster, file: Path, run: str, **options: object) -> runs.Run:
    """A run whose driver has announced itself."""
    found = submit(cluster, file, run, **options)
    announce(found.folder, targets_folder(cluster.endpoints), "127.0.0.1:9", found.pipeline, run)
    return found


def targets(cluster: PretendedCluster) -> list[str]:
    return sorted(path.name for path in targets_folder(cluster.endpoints).iterdir())


def test_a_target_goes_when_its_run_is_stopped_or_superseded(
    cluster: PretendedCluster, tmp_path: Path
) -> None:
    files = {name: tmp_path / f"{name}.yml" for name in ("tide", "tide.2")}
    for name, file in files.items():
        file.write_text(FILE.format(name=name, topic=GOOD))
    found_run(cluster, files["tide.2"], "r1")
    first = found_run(cluster, files["tide"], "r1")
    assert targets(cluster) == ["tide.2@r1.json", "tide@r1.json"]
    found_run(cluster, files["tide"], "r2")
    assert targets(cluster) == ["tide.2@r1.json", "tide@r2.json"]
    assert address_of(first.folder) is None
    shadow = found_run(cluster, files["tide"], "r3", beside=True)
    assert targets(cluster) == ["tide.2@r1.json", "tide@r2.json", "tide@r3.json"]
    runs.stop_run(cluster.endpoints, shadow)
    assert targets(cluster) == ["tide.2@r1.json", "tide@r2.json"]
    runs.stop_all(cluster.endpoints, "tide")
    assert targets(cluster) == ["tide.2@r1.json"]


def test_up_stops_the_runs_on_workers_that_it_restarts_and_resumes_them(
    cluster: PretendedCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "tide.yml"
    file.write_text(FILE.format(name="tide", topic=GOOD))
    submit(cluster, file, "blue")
    submit(cluster, file, "green", beside=True)
    stopped: list[str] = []

    def up(*_: object, may_end: MayEnd, **__: object) -> Endpoints:
        may_end(cluster.endpoints, living_jobs(cluster.endpoints))
        stopped.extend({*("blue", "green")} - {*runs.living(cluster.endpoints, "tide")})
        return cluster.endpoints

    monkeypatch.setattr(stack, "up", up)
    monkeypatch.setattr(stack, "endpoints", lambda **_: cluster.endpoints)
    shown = CliRunner().invoke(app, ["up", "--yes", "spark"])
    assert shown.exit_code == 0, shown.output
    assert sorted(stopped) == ["blue", "green"]
    assert runs.living(cluster.endpoints, "tide") == ["blue", "green"]
    assert "resumed run blue of tide" in shown.output
    assert "slackwater start" not in shown.output

    def fails(*_: object, may_end: MayEnd, **__: object) -> Endpoints:
        may_end(cluster.endpoints, living_jobs(cluster.endpoints))
        raise InfraError("spark-worker-1 died while starting")

    monkeypatch.setattr(stack, "up", fails)
    shown = CliRunner().invoke(app, ["up", "--yes", "spark"])
    assert shown.exit_code == 1
    said_of = " ".join(shown.output.split())
    assert f"`slackwater start {file} --run blue`" in said_of


GIB = 1 << 30


def file_of(ours: tuple[str, str]) -> Path:
    return Path(f"{ours[0]}.yml")


def application(name: str, cores: int) -> dict[str, Any]:
    state = "RUNNING" if cores else "WAITING"
    entry = {"id": f"app-{name}", "name": name, "cores": cores, "state": state}
    return entry | {"memoryperexecutor": 1024}


def page(*applications: dict[str, Any], drivers: dict[str, int]) -> dict[str, Any]:
    """What a master reports; the test on a real one is `tests/stack/test_life.py`."""
    alive = {"state": "ALIVE", "cores": 6, "coresfree": 1, "memoryfree": 1024}
    entries = [
        {"id": driver, "state": "RUNNING" if cores else "SUBMITTED", "cores": 1, "memory": 1024}
        for driver, cores in drivers.items()
    ]
    return {
        "activeapps": list(applications),
        "activedrivers": entries,
        "completedapps": [application("slackwater:old:r1", 0) | {"state": "FINISHED"}],
        "workers": [alive, {"state": "DEAD", "coresfree": 3, "memoryfree": 3072}],
    }


MORE = (
    "make room: `SLACKWATER_PIPELINES_AT_ONCE=3 slackwater up --yes`, which stops the jobs, gives "
    "the workers more, and resumes the jobs"
)


def test_the_holder_is_named_with_its_driver_and_what_would_free_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("SLACKWATER_KAFKA", raising=False)
    one, other = job_name("ebb", "r1"), job_name("flow", "r2")
    found = room(page(application(one, 0), application(other, 4), drivers={"d1": 1, "d2": 1}))
    assert said(one, "executors", found, {"d1": one, "d2": other}, file_of) == (
        "no worker has room for its executors (free: 1 cores with 1024 MiB): run r2 of flow has "
        f"5 cores; {MORE}; or end another: `slackwater stop flow.yml --run r2`"
    )
    assert found.ended == {"slackwater:old:r1": "app-slackwater:old:r1"}


@pytest.mark.parametrize(("waits", "holds"), [("r2", "first"), ("first", "r2")])
def test_a_run_never_needs_the_death_of_another_of_its_pipeline(waits: str, holds: str) -> None:
    """Blue and green: the advice to stop the blue run destroyed what the green one was for."""
    one, other, third = job_name("tide", waits), job_name("tide", holds), job_name("flow", "r1")
    found = room(page(application(one, 0), application(other, 4), drivers={"d1": 1, "d2": 1}))
    why = said(one, "executors", found, {"d1": one, "d2": other}, file_of)
    assert f"run {holds} of tide has 5 cores" in why
    assert why.endswith(MORE)
    assert "slackwater stop" not in why
    found = room(page(application(other, 4), application(third, 4), drivers={"d1": 0}))
    why = said(one, "driver", found, {"d1": one}, file_of)
    assert why.endswith("or end another: `slackwater stop flow.yml --run r1`")


def test_a_cluster_elsewhere_is_not_ours_to_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLACKWATER_KAFKA", "broker:9092")
    why = said(job_name("ebb", "r1"), "driver", room(page(drivers={})), {}, file_of)
    assert why.endswith("give the cluster more cores and memory (infra/README.md)")


def test_programs_that_are_no_runs_are_named_too() -> None:
    one = job_name("ebb", "r1")
    found = room(page(application("shell", 6), drivers={"d1": 0}))
    why = said(one, "driver", found, {"d1": one}, file_of)
    assert "'shell', which is not a run of a pipeline, has 6 cores" in why
    assert why.endswith("end the program that has them")


def test_a_cluster_that_is_too_small_says_so() -> None:
    why = said(job_name("ebb", "r1"), "driver", room(page(drivers={})), {}, file_of)
    assert "no job would free any" in why


def test_another_page_is_no_masters() -> None:
    with pytest.raises(NotReady, match="lacks 'workers'"):
        room({"status": "ALIVE"})


def test_names_of_jobs_lead_back_to_runs() -> None:
    assert pipeline_and_run(job_name("ebb", "r1")) == ("ebb", "r1")
    assert run_of_job(job_name("ebb", "r1"), "ebb") == "r1"
    assert run_of_job(job_name("ebbs", "r1"), "ebb") is None
    assert run_of_job("", "ebb") is None
    assert pipeline_and_run("slackwater ebb") is None


@pytest.mark.parametrize(
    ("memory_gib", "cores", "pipelines"),
    [(4, 2, 2), (7, 2, 2), (16, 4, 3), (24, 4, 3), (12, 8, 2), (256, 64, 3), (256, 2, 2)],
)
def test_a_machine_bears_so_many_pipelines(memory_gib: int, cores: int, pipelines: int) -> None:
    """At least a run and its successor."""
    assert borne(memory_gib * GIB, cores) == pipelines


@pytest.mark.parametrize("pipelines", [1, 2, 3, 7])
def test_so_many_pipelines_fit_wherever_their_drivers_are(pipelines: int) -> None:
    """A driver has 1 core and 1 GiB, an executor 2 cores and 1 GiB: one is on each worker."""
    size = size_for(pipelines)
    for drivers_here in range(pipelines + 1):
        assert size.cores >= drivers_here + 2 * pipelines
        assert size.memory_gib >= drivers_here + pipelines


def test_the_size_can_be_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(AT_ONCE_VARIABLE, "2")
    assert pipelines_at_once() == 2
    monkeypatch.delenv(AT_ONCE_VARIABLE)
    assert pipelines_at_once(tmp_path / "kept") >= 2
    (tmp_path / "kept").write_text("5")
    assert pipelines_at_once(tmp_path / "kept") == 5, "as it was named last"
    for wrong in ("0", "-1", "many", "", "²", "101"):
        monkeypatch.setenv(AT_ONCE_VARIABLE, wrong)
        with pytest.raises(Exception, match=f"{AT_ONCE_VARIABLE}=.*give the number"):
            pipelines_at_once()
