"""Names of files are data: no template, no option, no Markdown, whatever they look like."""

import shutil

import pytest
from airflow.dag_processing.dagbag import DagBag
from conftest import DAGS, PROJECT, load_dags, run_through, states

from dags.operators.command import Command, CommandError, project_root

NAMED = "{{ params.run }} {{ dag_run.conf }}"
"""What a file is called; a template engine makes something else of it."""


@pytest.fixture
def odd(pipelines, cluster):
    """The DAGs of a pipeline whose file has such a name."""
    (pipelines / "flight_delays.yml").rename(pipelines / f"{NAMED}.yml")
    return load_dags()


@pytest.mark.usefixtures("airflow_database")
def test_the_name_of_a_pipeline_file_is_no_template(odd, cluster):
    assert states(run_through(odd["flight_delays.verify"])) == {"verify": "success"}
    assert [call["arguments"] for call in cluster.calls()] == [["verify", f"pipelines/{NAMED}.yml"]]
    run = run_through(odd["flight_delays"])
    assert states(run)["quality"] == "success"
    for verb in ("validate", "topics", "submit"):
        (call,) = cluster.calls(verb)
        assert call["arguments"][1] == f"pipelines/{NAMED}.yml"
    (call,) = cluster.calls("quality")
    assert call["arguments"][1].endswith(f"/{NAMED}.yml")


def test_no_task_of_ours_has_a_field_that_is_a_template(pipelines, plans):
    file = pipelines / "flight_delays.yml"
    file.write_text(file.read_text() + '\nupkeep: {schedule: "@daily"}\n')
    found = load_dags()
    assert {"flight_delays.upkeep", "flight_delays.news", "chaos_nightly", "audit_nightly"} < set(
        found
    )
    fields = {
        f"{name}.{task.task_id}": list(task.template_fields)
        for name, dag in found.items()
        for task in dag.tasks
        if task.template_fields
    }
    assert fields == {}


@pytest.fixture
def plans():
    folder = project_root() / "chaos" / "plans"
    folder.mkdir(parents=True)
    shutil.copy(PROJECT / "chaos" / "plans" / "first.yml", folder)
    yield folder
    shutil.rmtree(folder)


def test_a_plan_that_can_be_no_task_is_reported_and_leaves_the_others_their_dag(pipelines, plans):
    for name in ("{{ 7 * 7 }}", "publish", "a b", "x" * 251):
        shutil.copy(plans / "first.yml", plans / f"{name}.yml")
    bag = DagBag(dag_folder=DAGS, bundle_path=DAGS, bundle_name="dags-folder")
    assert set(bag.dags["chaos_nightly"].task_ids) == {"first", "publish", "verdict"}
    (message,) = bag.import_errors.values()
    assert message.count("cannot be the name of a task") == 4
    assert "chaos/plans/{{ 7 * 7 }}.yml: '{{ 7 * 7 }}'" in message


def test_the_page_of_a_dag_shows_a_name_as_text(pipelines):
    name = "a`b`` ![x](http:127.0.0.1) <b>"
    (pipelines / "flight_delays.yml").rename(pipelines / f"{name}.yml")
    shown = load_dags()["flight_delays"].doc_md
    assert f"Deploys ```pipelines/{name}.yml```: topic" in shown


@pytest.mark.parametrize(
    ("argument", "said"),
    [("a\0b", "null byte"), ("x" * 3_000_000, "Argument list too long")],
    ids=["nul", "long"],
)
def test_what_can_be_no_argument_is_said_to_be_none(argument, said):
    with pytest.raises(CommandError, match=f"cannot be called with these values .*{said}"):
        Command(["validate", argument], lambda _: None).run()


def test_an_argument_makes_no_further_line_of_a_log(monkeypatch):
    monkeypatch.setenv("SLACKWATER_COMMAND", "/bin/true")
    lines = []
    Command(["validate", "a\n\x1b[2J[info] all is well"], lines.append).run()
    assert lines == ["$ /bin/true validate 'a\\n\\x1b[2J[info] all is well'"]
