"""DAGs as Airflow reads them: all pipelines, the same each time, broken ones apart."""

import shutil
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from airflow.dag_processing.dagbag import DagBag
from airflow.serialization.serialized_objects import DagSerialization

from tests.bounds import within

PROJECT = Path(__file__).resolve().parents[2]
DAGS = PROJECT / "dags"
BESIDE = (".stop", ".handover", ".verify", ".replay")
CHAIN = ["validate", "create_topics", "submit", "wait_for_progress", "quality", "publish"]


def parse() -> DagBag:
    return DagBag(dag_folder=DAGS, bundle_path=DAGS, bundle_name="dags-folder")


def edited(pipelines: Path, name: str, **changes: str) -> Path:
    """A copy of the flights' pipeline under another name, with some lines replaced."""
    lines = (pipelines / "flight_delays.yml").read_text().splitlines()
    for field, value in {"name": name, **changes}.items():
        lines = [f"{field}: {value}" if line.startswith(f"{field}:") else line for line in lines]
    path = pipelines / f"{name}.yml"
    path.write_text("\n".join(lines) + "\n")
    return path


def deployments(bag) -> set[str]:
    """The DAGs that deploy a pipeline; beside each are those of its actions, and of its news."""
    news = {name for name in bag.dags if name.endswith(".news")}
    actions = {name for name in bag.dags if name.endswith(BESIDE)}
    found = set(bag.dags) - news - actions - {"audit_nightly"}
    assert news == {f"{name}.news" for name in found if not bag.dags[name].schedule}
    assert actions == {f"{name}{end}" for name in found for end in BESIDE}
    return found


def test_every_pipeline_of_the_project_has_a_dag(pipelines):
    for file in (PROJECT / "pipelines").glob("*.yml"):
        shutil.copy(file, pipelines)
    bag = parse()
    assert bag.import_errors == {}
    assert len(deployments(bag)) == len(list(pipelines.iterdir()))
    assert "flight_delays" in bag.dags


def test_the_steps_of_a_deployment_are_a_chain_with_the_monitor_beside_it(pipelines):
    dag = parse().dags["flight_delays"]
    assert set(dag.task_ids) == {*CHAIN, "monitor", "check_again"}
    for before, after in pairwise(CHAIN):
        assert dag.get_task(after).upstream_task_ids == {before}
    # Not behind the checks: a job that dies while they run, or fail, is seen, too.
    assert dag.get_task("monitor").upstream_task_ids == {"submit"}
    assert dag.schedule is None
    assert dag.max_active_runs > 1  # the one that watches the job must not hold up the next
    assert dag.get_task("submit").available_now is False
    assert dag.get_task("submit").first_run is None
    assert dag.get_task("wait_for_progress").owns_job is False
    assert [str(asset.uri) for asset in dag.get_task("publish").outlets] == [
        "slackwater://flight_delays/flight_delays"
    ]


def test_the_page_of_a_dag_shows_the_file_whatever_is_in_it(pipelines):
    path = edited(pipelines, "fenced")
    path.write_text(
        path.read_text() + "# ```` closes no fence, nor does {{ this }} mean anything\n"
    )
    page = parse().dags["fenced"].doc_md
    assert page.endswith(f"`````yaml\n{path.read_text().rstrip()}\n`````")
    path.write_text(path.read_text() + "# long\n" * 10_000)
    page = parse().dags["fenced"].doc_md
    assert len(page) < 25_000
    assert page.endswith("characters more")


def test_a_cron_schedule_gives_increments_of_one_run(pipelines):
    edited(pipelines, "nightly", schedule='"15 3 * * *"')
    dag = parse().dags["nightly"]
    assert dag.schedule == "15 3 * * *"
    assert dag.catchup is False
    assert dag.max_active_runs == 1
    assert dag.get_task("submit").available_now is True
    assert dag.get_task("submit").first_run == "increments"
    assert dag.get_task("wait_for_progress").owns_job is True
    assert not dag.has_task("monitor")
    assert "check_minutes" not in dag.params


def test_an_action_has_a_dag_with_one_task_that_waits_for_nothing(pipelines):
    edited(pipelines, "nightly", schedule='"15 3 * * *"')
    found = parse().dags
    for name in ("flight_delays", "nightly"):
        for end in BESIDE:
            dag = found[f"{name}{end}"]
            assert dag.task_ids == [end[1:]]
            assert dag.schedule is None
            assert dag.is_paused_upon_creation is False
    assert set(found["nightly.replay"].params) == {"run", "replay_from", "replay_to"}
    assert set(found["nightly.stop"].params) == {"run"}
    assert "action" not in found["nightly"].params


@pytest.mark.parametrize("end", ["", ".news", *BESIDE])
def test_a_task_of_a_dag_beside_a_pipelines_finds_its_dag(pipelines, monkeypatch, end):
    monkeypatch.setenv("_AIRFLOW_PARSING_CONTEXT_DAG_ID", f"flight_delays{end}")
    edited(pipelines, "nightly", schedule='"15 3 * * *"')
    assert f"flight_delays{end}" in parse().dags


def test_parsing_twice_gives_the_same_bytes(pipelines):
    edited(pipelines, "nightly", schedule='"15 3 * * *"')
    first, second = (
        {name: DagSerialization.to_dict(dag) for name, dag in parse().dags.items()}
        for _ in range(2)
    )
    assert first == second


def test_a_broken_file_is_an_import_error_with_line_and_field_and_hides_no_other(pipelines):
    edited(pipelines, "bad_window").write_text(
        (pipelines / "flight_delays.yml").read_text().replace("RANGE 1 hour", "RANGE 1 hoo")
    )
    (pipelines / "not_yaml.yml").write_text("name: [\n")
    (pipelines / "not_text.yml").write_bytes(b"\xff\xfe\x00")
    edited(pipelines, "bad_cron", schedule="sometimes")
    shutil.copy(pipelines / "flight_delays.yml", pipelines / "zz_twin.yml")
    bag = parse()
    assert deployments(bag) == {"flight_delays"}
    assert [Path(file).name for file in bag.import_errors] == ["pipeline_problems.py"]
    (message,) = bag.import_errors.values()
    text = (pipelines / "flight_delays.yml").read_text().splitlines()
    window = 1 + next(n for n, line in enumerate(text) if "RANGE 1 hour" in line)
    schedule = 1 + next(n for n, line in enumerate(text) if line.startswith("schedule:"))
    assert f"pipelines/bad_window.yml:{window}: queries.hourly.window: " in message
    assert f"pipelines/bad_cron.yml:{schedule}: schedule: 'sometimes' is neither" in message
    assert "pipelines/not_yaml.yml:" in message
    assert "pipelines/not_text.yml:1: is not UTF-8" in message
    assert "pipelines/zz_twin.yml: name: 'flight_delays' is the name of" in message
    assert str(pipelines) not in message


def test_a_pipeline_without_a_sink_writes_a_table_of_its_name(pipelines):
    """As the job does, and as `validate` says."""
    lines = edited(pipelines, "no_sink").read_text().splitlines()
    kept = [line for line in lines if not line.startswith("sink:")]
    (pipelines / "no_sink.yml").write_text("\n".join(kept))
    bag = parse()
    assert bag.import_errors == {}
    [asset] = bag.dags["no_sink"].get_task("publish").outlets
    assert str(asset.uri) == "slackwater://no_sink/no_sink"


BOMB = "a: &a [1, 2, 3, 4, 5, 6, 7, 8, 9]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n"
    for before, name in zip("abcdefghi", "bcdefghij", strict=True)
)


def test_no_file_takes_the_other_dags_away_or_keeps_the_processor_busy(pipelines, monkeypatch):
    import os

    good = (pipelines / "flight_delays.yml").read_text()
    named = "name: flight_delays"
    bad = {
        "long_name": good.replace(named, f"name: {'x' * 251}"),
        "long_table": good.replace("{table: flight_delays}", f"{{table: {'x' * 1500}}}"),
        "binary": good.replace(named, "name: !!binary Li4vLi4vLi4="),
        "binary_table": good.replace("{table: flight_delays}", "{table: !!binary Li4vLi4=}"),
        "dots": good.replace(named, 'name: ".."'),
        "bomb": BOMB,
        "deep": "[" * 100_000,
        "digits": f"name: {'9' * 5000}",
        "date": "name: 2024-02-30",
        "nightly": good.replace(named, "name: chaos_nightly"),
        "audits": good.replace(named, "name: audit_nightly"),
        "airflow": good.replace(named, "name: airflow_says_no"),
    }
    for file, text in bad.items():
        (pipelines / f"{file}.yml").write_text(text)
    os.mkfifo(pipelines / "pipe.yml")
    (pipelines / "nowhere.yml").symlink_to("/nowhere")
    (pipelines / "folder.yml").mkdir()
    from dags import render

    real = render._doc

    def doc(deployment):
        if deployment.name == "airflow_says_no":
            raise ValueError("a rule of Airflow's own")
        return real(deployment)

    monkeypatch.setattr(render, "_doc", doc)
    try:
        with within(20):
            bag = parse()
    finally:
        (pipelines / "folder.yml").rmdir()
    assert deployments(bag) == {"flight_delays"}
    (message,) = bag.import_errors.values()
    for file in (*bad, "pipe", "nowhere", "folder"):
        assert f"pipelines/{file}.yml" in message
    assert "cannot be read: ValueError: a rule of Airflow's own" in message


def test_a_parse_runs_no_code_of_a_user(pipelines, tmp_path, monkeypatch):
    (tmp_path / "leaves.py").write_text("import sys\nsys.exit(7)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    text = (
        edited(pipelines, "own")
        .read_text()
        .replace("flights: count", "flights: python:leaves:C(dep_delay)")
    )
    (pipelines / "own.yml").write_text(text)
    bag = parse()
    assert bag.import_errors == {}
    assert deployments(bag) == {"flight_delays", "own"}
    assert "leaves" not in sys.modules


def test_the_longest_names_that_are_taken_have_a_dag(pipelines):
    name = "x" * 200
    path = edited(pipelines, "long", sink=f"{{table: {name}}}")
    path.write_text(path.read_text().replace("name: long", f"name: {name}"))
    bag = parse()
    assert bag.import_errors == {}
    dag = bag.dags[name]
    assert DagSerialization.to_dict(dag)


def test_a_mended_file_leaves_no_import_error(pipelines):
    broken = edited(pipelines, "nightly", schedule="sometimes")
    assert parse().import_errors
    broken.unlink()
    assert parse().import_errors == {}


def test_a_task_process_reads_its_own_dag_only(pipelines, monkeypatch):
    edited(pipelines, "nightly", schedule='"15 3 * * *"')
    # Airflow's own context manager would leave this set behind.
    monkeypatch.setenv("_AIRFLOW_PARSING_CONTEXT_DAG_ID", "nightly")
    assert deployments(parse()) == {"nightly"}


def test_pipeline_names_cannot_shadow_what_the_loader_uses(pipelines):
    for name in ("render", "deployment", "wanted", "read_deployments"):
        edited(pipelines, name)
    bag = parse()
    assert bag.import_errors == {}
    assert {"render", "deployment", "wanted", "read_deployments", "flight_delays"} == deployments(
        bag
    )


def test_the_loader_is_small_and_the_parse_imports_no_engine(pipelines):
    import subprocess
    import sys

    assert len((DAGS / "pipelines.py").read_text().splitlines()) <= 60
    code = (
        "import sys; import dags.pipelines; "
        "print([m for m in sys.modules if m.split('.')[0] in ('pyspark','pyarrow','polars')"
        " or m.startswith(('windowing.spark','windowing.runtime','windowing.engine','jobs'))])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().splitlines()[-1] == "[]"


@pytest.mark.parametrize("run", [None, "blue-2", "increments"])
def test_the_run_parameter_takes_names(pipelines, run):
    params = parse().dags["flight_delays"].params
    params["run"] = run
    assert params.validate()["run"] == run


@pytest.mark.parametrize("run", ["../x", "a b", "-x", "", 7])
def test_the_run_parameter_refuses_what_is_no_file_name(pipelines, run):
    from airflow.sdk.exceptions import ParamValidationError

    params = parse().dags["flight_delays"].params
    with pytest.raises(ParamValidationError):
        params["run"] = run
