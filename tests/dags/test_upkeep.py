"""The DAG that tends a pipeline's tables: there if the file asks for it, and beside the other."""

import pytest
from conftest import load_dags, run_through, states

UPKEEP = 'upkeep: {schedule: "@hourly", retention: 2 days}\n'


def with_upkeep(pipelines, name="flight_delays"):
    path = pipelines / "flight_delays.yml"
    path.write_text(path.read_text().replace("name: flight_delays", f"name: {name}") + UPKEEP)


def test_only_a_file_that_asks_has_upkeep(pipelines):
    assert sorted(load_dags()) == ["audit_nightly", "flight_delays", "flight_delays.news"]
    with_upkeep(pipelines)
    dags = load_dags()
    names = ["audit_nightly", "flight_delays", "flight_delays.news", "flight_delays.upkeep"]
    assert sorted(dags) == names
    dag = dags["flight_delays.upkeep"]
    assert dag.schedule == "@hourly"
    assert (dag.catchup, dag.max_active_runs) == (False, 1)
    assert dag.get_task("vacuum").upstream_task_ids == {"optimize"}


@pytest.mark.usefixtures("airflow_database")
def test_files_are_merged_and_then_old_ones_removed(pipelines, cluster):
    with_upkeep(pipelines)
    run = run_through(load_dags()["flight_delays.upkeep"])
    assert states(run) == {"optimize": "success", "vacuum": "success"}
    file = "pipelines/flight_delays.yml"
    called = [call["arguments"] for call in cluster.calls("tables")]
    assert called == [["tables", file, "optimize"], ["tables", file, "vacuum"]]


@pytest.mark.usefixtures("airflow_database")
def test_nothing_is_removed_if_merging_fails(pipelines, cluster):
    with_upkeep(pipelines)
    cluster.script(fail={"tables": "table hourly cannot be read"})
    run = run_through(load_dags()["flight_delays.upkeep"])
    assert states(run) == {"optimize": "failed", "vacuum": "upstream_failed"}
    assert {call["arguments"][2] for call in cluster.calls("tables")} == {"optimize"}


def test_no_pipeline_has_the_name_of_anothers_upkeep(pipelines):
    with_upkeep(pipelines, name="other.upkeep")
    from test_structure import parse

    bag = parse()
    assert not bag.dags
    (said,) = bag.import_errors.values()
    assert "'other.upkeep' is the DAG of the upkeep of a pipeline's tables" in said
