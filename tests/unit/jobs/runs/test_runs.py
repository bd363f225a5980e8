"""Runs begin, end and are found again: the calls that commands, DAGs and chaos make."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from importlib import invalidate_caches
from pathlib import Path

import pytest

from infra import spark_rest
from infra.errors import InfraError
from jobs import runs
from jobs.runs.choice import LIVE_FILE, give_order, live_run, meant
from jobs.runs.folder import NOTE_FILE, Options, RunError, every_run, read_run, write_note
from jobs.runs.job_order import read_environment
from jobs.runs.life import Order, State
from jobs.runs.looking import life_of
from tests.unit.life.machine import BAD, FILE, GOOD
from tests.unit.life.pretended import PretendedCluster
from windowing.model import PipelineError, load_pipeline
from windowing.model.registry import PLUGINS_VARIABLE
from windowing.model.user.user_aggregate import load, source_digest


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[PretendedCluster]:
    with PretendedCluster(tmp_path / "state", BAD) as cluster:
        yield cluster


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "tide.yml"
    file.write_text(FILE.format(name="tide", topic=GOOD))
    return file


def submit(cluster: PretendedCluster, file: Path, run: str, **given: object) -> runs.Run:
    options = runs.Options(**given)  # type: ignore[arg-type]
    found = runs.submit(cluster.endpoints, load_pipeline(file), file, run, options)
    cluster.settle()
    return found


def test_a_living_job_keeps_its_copy_of_the_file(cluster: PretendedCluster, file: Path) -> None:
    """L2: attaching wrote over it, and the next restart of the driver failed by fingerprint."""
    first = submit(cluster, file, "r1")
    before = first.file.read_text()
    file.write_text(before.replace("count", "max(v)"))
    again = submit(cluster, file, "r1")
    assert again == first
    assert first.file.read_text() == before
    assert len(cluster.drivers) == 1


@pytest.mark.parametrize("damage", ["", "{}", "[]", "{", "null", '{"options": {"depth": 1}}'])
def test_a_note_that_another_program_has_written_is_one_sentence(
    cluster: PretendedCluster, file: Path, damage: str
) -> None:
    """A note without options ended every command of the pipeline with a `KeyError`."""
    run = submit(cluster, file, "r1")
    (run.folder / NOTE_FILE).write_text(damage)
    with pytest.raises(
        RunError, match=r"run\.json is not what `submit` has written .*: put it back"
    ):
        every_run(cluster.endpoints, "tide")


def test_start_goes_on_with_the_same_copy_and_the_same_options(
    cluster: PretendedCluster, file: Path
) -> None:
    options = Options(500, True, 2, {"spark.cores.max": "2"}, {0: 5}, {0: 50})
    first = submit(
        cluster,
        file,
        "r1",
        max_offsets=500,
        available_now=True,
        parallelism=2,
        conf={"spark.cores.max": "2"},
        first={0: 5},
        end={0: 50},
    )
    assert first.options == options
    assert runs.stop_run(cluster.endpoints, first) == ["r1"]
    file.unlink()
    again = runs.start(cluster.endpoints, read_run(first.folder))
    assert again.options == options
    assert again.given == first.given
    one, other = cluster.drivers
    assert other.arguments == one.arguments
    assert "--available-now" in other.arguments


def test_start_refuses_code_that_the_checkpoint_does_not_fit(
    cluster: PretendedCluster, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B3: it started the job, which gave up, and ended with 0."""
    monkeypatch.syspath_prepend(tmp_path)
    module, text = tmp_path / "tide_sum.py", Path("pipelines/swing.py").read_text()
    module.write_text(text)
    file.write_text(file.read_text().replace("count", "'python:tide_sum:Swing(v)'"))
    first = submit(cluster, file, "r1")
    runs.stop_run(cluster.endpoints, first)
    begun = source_digest("tide_sum:Swing")
    module.write_text(f"{text}\n\nMENDED = 1\n")
    invalidate_caches()
    with pytest.raises(RunError, match=r"begun with other code .*(?s:.)* --against OLD\.py"):
        runs.start(cluster.endpoints, read_run(first.folder))
    assert len(cluster.drivers) == 1
    monkeypatch.setattr(load("tide_sum:Swing"), "states", begun, raising=False)
    runs.start(cluster.endpoints, read_run(first.folder))
    assert len(cluster.drivers) == 2


def test_plug_ins_go_with_the_job(
    cluster: PretendedCluster, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B9: those that the settings named since `up` were unknown to the driver."""
    monkeypatch.setenv(PLUGINS_VARIABLE, '{"windows": {"months": "tidepool.months:Months"}}')
    submit(cluster, file, "r1")
    (driver,) = cluster.drivers
    given = driver.arguments[driver.arguments.index("--environment") + 1]
    assert read_environment(Path(given))[PLUGINS_VARIABLE].startswith('{"windows"')


def test_a_run_beside_the_live_one_leaves_it_alone(cluster: PretendedCluster, file: Path) -> None:
    blue = submit(cluster, file, "blue")
    green = submit(cluster, file, "green", beside=True)
    assert runs.living(cluster.endpoints, "tide") == ["blue", "green"]
    assert live_run(cluster.endpoints, "tide") == read_run(blue.folder)
    assert runs.stop_run(cluster.endpoints, green) == ["green"]
    runs.start(cluster.endpoints, read_run(green.folder))
    assert runs.living(cluster.endpoints, "tide") == ["blue", "green"]
    # What runs already ends nobody.
    submit(cluster, file, "blue")
    assert runs.living(cluster.endpoints, "tide") == ["blue", "green"]


def test_the_first_run_is_live_though_it_was_to_work_beside(
    cluster: PretendedCluster, file: Path
) -> None:
    submit(cluster, file, "only", beside=True)
    assert json.loads((cluster.state_dir / "runs/tide" / LIVE_FILE).read_text()) == {"run": "only"}


def test_a_live_run_that_is_gone_gives_way_to_the_newest(
    cluster: PretendedCluster, file: Path
) -> None:
    submit(cluster, file, "r1")
    last = submit(cluster, file, "r2")
    (cluster.state_dir / "runs/tide" / LIVE_FILE).write_text('{"run": "r3"}')
    assert live_run(cluster.endpoints, "tide") == read_run(last.folder)


def test_a_submission_that_was_cut_off_leaves_a_run_that_is_seen(
    cluster: PretendedCluster, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> str:
        msg = "the master has gone"
        raise InfraError(msg)

    with monkeypatch.context() as patch:
        patch.setattr(spark_rest, "submit", refuse)
        with pytest.raises(InfraError):
            submit(cluster, file, "r1")
    (run,) = every_run(cluster.endpoints, "tide")
    assert life_of(cluster.endpoints, run).state is State.stopped
    submitted = submit(cluster, file, "r1")
    # Cut off behind the master's answer: the driver is there, and the note lacks its name.
    write_note(replace(submitted, submission_id=""))
    assert life_of(cluster.endpoints, read_run(run.folder)).state is State.running
    assert submit(cluster, file, "r1").submission_id == "driver-0"
    assert len(cluster.drivers) == 1


def test_a_job_on_its_way_out_is_not_attached_to(cluster: PretendedCluster, file: Path) -> None:
    run = submit(cluster, file, "r1")
    give_order(run.folder, Order())
    assert life_of(cluster.endpoints, run).state is State.stopping
    submit(cluster, file, "r1")
    assert [one.state for one in cluster.drivers] == ["KILLED", "RUNNING"]


def test_a_stack_that_was_stopped_has_stopped_its_runs(
    cluster: PretendedCluster, file: Path
) -> None:
    run = submit(cluster, file, "r1")
    down = replace(cluster.endpoints, spark_rest="", spark_ui="")
    assert life_of(down, run).state is State.stopped
    cluster.drivers.clear()  # as after `down` and `up`: the master has forgotten
    found = life_of(cluster.endpoints, run)
    assert found.state is State.stopped
    assert "slackwater start" in str(found.why)


def test_which_run_is_meant(cluster: PretendedCluster, file: Path) -> None:
    with pytest.raises(runs.RunError, match="has no run: submit it first"):
        meant(cluster.endpoints, file)
    submit(cluster, file, "r1")
    submit(cluster, file, "r2")
    assert meant(cluster.endpoints, file).run == "r2"
    assert meant(cluster.endpoints, file, "r1").run == "r1"
    with pytest.raises(runs.RunError, match="has no run 'r9'; it has r1, r2"):
        meant(cluster.endpoints, file, "r9")
    with pytest.raises(runs.RunNameError):
        meant(cluster.endpoints, file, "../r1")
    file.write_text(file.read_text() + "nonsense: 1\n")
    assert meant(cluster.endpoints, file).run == "r2"
    for other in ("name: another\n", "name: ../tide\n", "name: [", "- 1\n", "name: 7\n"):
        file.write_text(f"{other}nonsense: 1\n")
        with pytest.raises(PipelineError):
            meant(cluster.endpoints, file)


@pytest.mark.parametrize(
    ("launches", "state"), [(1, State.submitted), (2, State.restarting), (3, State.failed)]
)
def test_a_driver_that_never_comes_to_our_program_is_seen_by_its_output(
    cluster: PretendedCluster, file: Path, launches: int, state: State
) -> None:
    """The worker writes the command at each start; what Spark 4.2 writes is in tests/night."""
    run = submit(cluster, file, "r1")
    (run.folder / "attempts.json").write_text(
        '{"begun": 0, "well": false, "deaths": {}, "living": null}'
    )
    log = cluster.state_dir / "spark" / "work-1" / run.submission_id
    log.mkdir(parents=True)
    command = 'Launch Command: "java" "-Xmx1024M"\n=====\n\n26/11/22 10:00:00 INFO ShutdownHook\n'
    raised = "Traceback (most recent call last):\nModuleNotFoundError: No module named 'jobs'\n"
    (log / "stderr").write_text(command * launches)
    (log / "stdout").write_text(raised * launches)
    found = life_of(cluster.endpoints, run)
    assert found.state is state
    if launches > 1:
        assert "ModuleNotFoundError: No module named 'jobs'" in str(found.why)


@pytest.mark.parametrize("first", ["blue", "green"])
def test_a_run_that_died_is_resumed_without_the_end_of_the_one_beside_it(
    cluster: PretendedCluster, file: Path, first: str
) -> None:
    """To resume blue, one was advised to stop green."""
    found = {"blue": submit(cluster, file, "blue")}
    found["green"] = submit(cluster, file, "green", beside=True)
    runs.stop_run(cluster.endpoints, found[first])
    runs.start(cluster.endpoints, read_run(found[first].folder))
    assert runs.living(cluster.endpoints, "tide") == ["blue", "green"]
    live = live_run(cluster.endpoints, "tide")
    assert live is not None
    assert live.run == "blue"
    assert len(cluster.drivers) == 3
