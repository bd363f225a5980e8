"""Every button of the UI does what is expected: the rows of the table in dags/README.md.

On a real Airflow, over a stand-in of the cluster. Starts are dear, so one pipeline goes through all
of it: each test begins with a job that lives under the DAG run `first`, or makes it so.
"""

import pytest
from services import wait_for
from stage import Deployed, Stage

from dags.entities import run_name

FIRST = "first"
RUN = run_name(FIRST, 0)

pytestmark = pytest.mark.stack


@pytest.fixture(scope="module")
def deployed(stage: Stage) -> Deployed:
    """A pipeline whose job was deployed by the DAG run `first`."""
    pipeline = stage.pipeline("flights_of_ours")
    pipeline.trigger(FIRST)
    return pipeline


@pytest.fixture
def flights(deployed: Deployed) -> Deployed:
    """The same, with a job that lives and a monitor that watches it."""
    if deployed.state(FIRST, "monitor") not in ("deferred", "None", "running", "scheduled"):
        deployed.watch_again(FIRST)
    deployed.until(FIRST, "monitor", "deferred", seconds=480)
    assert deployed.jobs() == {RUN: "RUNNING"}
    return deployed


def test_green_is_progress_and_the_monitor_goes_on(flights):
    flights.until(FIRST, "publish", "success")
    flights.until(FIRST, "check_again", "deferred")
    assert flights.states(FIRST) == {
        "validate": "success",
        "create_topics": "success",
        "submit": "success",
        "wait_for_progress": "success",
        "quality": "success",
        "publish": "success",
        "monitor": "deferred",
        "check_again": "deferred",
    }
    assert flights.state(FIRST) == "running"
    # Which run is meant, and what was deployed, stands in the UI.
    assert flights.result(FIRST, "submit")["run"] == RUN
    assert flights.result(FIRST, "submit", "deployed_file") == flights.file.read_text()
    path = f"dags/{flights.name}/dagRuns/{FIRST}/taskInstances"
    links = flights.stage.airflow.get(f"{path}/monitor/links")["extra_links"]
    assert links == {"Spark driver": "http://127.0.0.1:4040"}


def test_a_later_check_that_passes_updates_the_asset_and_one_that_fails_does_not(flights):
    """Once for all that is new: the same again is no news."""
    airflow, news = flights.stage.airflow, f"{flights.name}.news"
    final_until = {"hourly": "2013-01-01T09:00:00+00:00"}

    def updates() -> list[dict]:
        found = airflow.get("assets/events")["asset_events"]
        mine = [one for one in found if one["source_dag_id"] == news]
        return [one["extra"]["final_until"] for one in mine]

    def checked_again(**script) -> None:
        flights.until(FIRST, "check_again", "deferred")
        flights.stage.cluster.script(pipeline=flights.name, final_until=final_until, **script)
        flights.clear(FIRST, "check_again")

    checked_again()
    wait_for(lambda: updates() == [final_until], 120, "the Asset is updated")

    def runs() -> list[tuple[str, str]]:
        found = airflow.get(f"dags/{news}/dagRuns")["dag_runs"]
        return [(one["state"], one["conf"]["run"]) for one in found]

    wait_for(lambda: runs() == [("success", RUN)], 60, "one DAG run reported it")
    final_until = {"hourly": "2013-01-01T10:00:00+00:00"}
    checked_again(fail={"quality": "9 of 10 expectations hold, not dead_share"})
    flights.until(FIRST, "check_again", "failed")
    flights.stays(lambda: len(updates()) == 1)
    flights.stage.cluster.script(pipeline=flights.name)
    flights.clear(FIRST, "check_again")
    flights.until(FIRST, "check_again", "deferred")


@pytest.fixture
def unmet(flights):
    """Checks that do not hold, from when they have held once."""
    flights.until(FIRST, "check_again", "deferred")
    said = {"quality": "9 of 10 expectations hold, not dead_share"}
    flights.stage.cluster.script(pipeline=flights.name, fail=said)
    yield
    flights.stage.cluster.script(pipeline=flights.name)
    flights.clear(FIRST, "check_again")
    flights.until(FIRST, "check_again", "deferred")


@pytest.mark.usefixtures("unmet")
def test_expectations_that_no_longer_hold_are_red_and_the_job_goes_on(flights):
    flights.clear(FIRST, "check_again")
    flights.until(FIRST, "check_again", "failed")
    wait_for(lambda: "check_again" in flights.alarmed(), 60, "the user's callback is called")
    assert "not dead_share; the job of run" in flights.log(FIRST, "check_again")
    path = f"dags/{flights.name}/dagRuns/{FIRST}/taskInstances/check_again/links"
    docs = flights.stage.airflow.get(path)["extra_links"]["Data Docs"]
    assert docs.endswith(f"/data-docs/{flights.name}/")
    assert flights.state(FIRST, "monitor") == "deferred"
    assert flights.jobs() == {RUN: "RUNNING"}


def test_a_dead_job_is_red_after_it_was_green_and_clear_goes_on_from_its_checkpoint(flights):
    before = flights.driver(RUN)
    flights.stage.cluster.set_state(before, "FAILED")
    flights.until(FIRST, "monitor", "failed")
    wait_for(lambda: "monitor" in flights.alarmed(), 60, "the user's callback is called")
    assert f"run {RUN} is failed: disk full" in flights.log(FIRST, "monitor")
    assert flights.driver(RUN) == before  # it gave up: no retry would help
    flights.until(FIRST, "", "failed")
    flights.watch_again(FIRST)
    assert flights.driver(RUN) != before
    assert flights.jobs() == {RUN: "RUNNING"}
    offset = flights.stage.cluster.jobs()[flights.driver(RUN)]["offset"]
    assert offset > 0


def test_a_job_that_is_gone_is_deployed_again_by_a_retry(flights):
    before = flights.driver(RUN)
    flights.stage.cluster.set_state(before, "KILLED")
    flights.until_driver(RUN, other_than=before)
    flights.until(FIRST, "monitor", "deferred")
    assert flights.jobs() == {RUN: "RUNNING"}


def test_pausing_stops_no_job_and_hides_no_dead_one(flights):
    flights.pause(paused=True)
    flights.stays(lambda: flights.state(FIRST, "monitor") == "deferred")
    assert flights.jobs() == {RUN: "RUNNING"}
    before = flights.driver(RUN)
    flights.stage.cluster.set_state(before, "KILLED")
    flights.until(FIRST, "monitor", "up_for_retry")
    flights.stays(lambda: flights.driver(RUN) == before)  # nothing new begins in a paused DAG
    flights.pause(paused=False)
    flights.until_driver(RUN, other_than=before)
    flights.until(FIRST, "monitor", "deferred")


def test_monitor_marked_failed_stops_the_job_and_clear_goes_on(flights):
    before = flights.driver(RUN)
    flights.mark(FIRST, "failed", "monitor")
    flights.until_jobs(**{RUN: "KILLED"})
    flights.until(FIRST, "", "failed")
    flights.watch_again(FIRST)
    assert flights.driver(RUN) != before
    assert flights.jobs() == {RUN: "RUNNING"}


def test_monitor_marked_success_leaves_the_job_alone_and_clear_finds_it(flights):
    before = flights.driver(RUN)
    flights.mark(FIRST, "success", "monitor")
    flights.stays(lambda: flights.jobs() == {RUN: "RUNNING"})
    flights.watch_again(FIRST)
    assert flights.driver(RUN) == before


@pytest.mark.parametrize("task", ["submit", "wait_for_progress", "quality"])
def test_a_task_cleared_alone_stays_with_the_run_and_its_job(flights, task):
    before, tries = flights.driver(RUN), flights.tries(FIRST, task)
    flights.clear(FIRST, task)
    flights.until_try(FIRST, task, tries + 1)
    flights.until(FIRST, task, "success")
    assert flights.driver(RUN) == before
    assert flights.jobs() == {RUN: "RUNNING"}


def test_a_second_trigger_goes_on_with_the_living_run_and_can_be_deleted(flights):
    before = flights.driver(RUN)
    if flights.state(FIRST, "check_again") != "deferred":  # it ended when the job was stopped
        flights.clear(FIRST, "check_again")
        flights.until(FIRST, "check_again", "deferred")
    flights.trigger("second")
    flights.until("second", "", "success")
    assert flights.result("second", "submit")["run"] == RUN
    assert flights.driver(RUN) == before
    assert flights.states("second")["monitor"] == "skipped"
    assert flights.states("second")["check_again"] == "skipped"
    assert f"DAG run {FIRST} watches run {RUN} already" in flights.log("second", "monitor")
    assert flights.state(FIRST, "monitor") == "deferred"
    assert flights.delete(FIRST) == 409  # it runs: to be marked first
    assert flights.delete("second") == 204
    flights.stays(lambda: flights.jobs() == {RUN: "RUNNING"})


def test_a_file_that_is_taken_away_leaves_job_and_monitor_alone(flights):
    place = flights.take_away()
    flights.until_stale(stale=True)
    flights.stays(lambda: flights.state(FIRST, "monitor") == "deferred")
    assert flights.jobs() == {RUN: "RUNNING"}
    # It is still watched: by the run's own copy of the file.
    before = flights.driver(RUN)
    flights.stage.cluster.set_state(before, "KILLED")
    flights.until(FIRST, "monitor", "up_for_retry")
    place.rename(flights.file)
    flights.until_stale(stale=False)
    flights.until_driver(RUN, other_than=before)
    flights.until(FIRST, "monitor", "deferred")


def test_an_edited_file_is_refused_until_one_says_what_is_to_become_of_the_job(flights):
    before = flights.driver(RUN)
    text = flights.file.read_text()
    flights.file.write_text(text.replace("slack: 3 hours", "slack: 4 hours"))
    assert flights.file.read_text() != text
    flights.until_doc("slack: 4 hours")
    flights.trigger("edited")
    flights.until("edited", "submit", "failed")
    said = flights.log("edited", "submit")
    assert f"is another pipeline than run {RUN} was submitted with" in said
    assert "In the trigger dialog: on_change = new_run stops the job" in said
    assert flights.tries("edited", "submit") == 1
    assert flights.driver(RUN) == before
    assert flights.jobs() == {RUN: "RUNNING"}

    flights.trigger("green", on_change="new_run")
    green = run_name("green", 0)
    flights.until_jobs(**{RUN: "KILLED", green: "RUNNING"})
    flights.until("green", "monitor", "deferred")
    said = flights.log("green", "submit")
    assert f"before: run {RUN} is running (live)" in said
    assert f"after: run {RUN} is superseded: run {green} took over" in said
    flights.until(FIRST, "", "success")
    assert flights.states(FIRST)["monitor"] == "skipped"

    # An old DAG run that is cleared ends no younger job.
    tries = flights.tries(FIRST, "submit")
    flights.clear(FIRST, "submit", "monitor")
    flights.until_try(FIRST, "submit", tries + 1)
    flights.until(FIRST, "monitor", "skipped")
    assert flights.jobs() == {RUN: "KILLED", green: "RUNNING"}
    assert flights.result(FIRST, "submit")["run"] == green

    # Stopped and gone on with, from the UI.
    stop = flights.beside("stop")
    stop.trigger("halt")
    stop.until("halt", "", "success")
    assert flights.jobs() == {RUN: "KILLED", green: "KILLED"}
    assert stop.states("halt") == {"stop": "success"}
    flights.until("green", "monitor", "skipped")
    before = flights.driver(green)
    flights.trigger("on")
    flights.until("on", "monitor", "deferred")
    assert flights.result("on", "submit")["run"] == green
    assert flights.driver(green) != before

    # A DAG run that is marked a success lets go of its job, one marked failed ends it.
    flights.until("on", "publish", "success")
    flights.mark("on", "success")
    flights.stays(lambda: flights.jobs()[green] == "RUNNING")
    flights.trigger("last")
    flights.until("last", "monitor", "deferred")
    flights.mark("last", "failed")
    flights.until_jobs(**{RUN: "KILLED", green: "KILLED"})


def test_blue_and_green_from_the_dialog(stage):
    pipeline = stage.pipeline("blue_and_green")
    pipeline.trigger("blue", run="blue")
    pipeline.until("blue", "monitor", "deferred")
    pipeline.trigger("green", run="green", on_change="beside")
    pipeline.until("green", "monitor", "deferred")
    assert pipeline.jobs() == {"blue": "RUNNING", "green": "RUNNING"}
    over = pipeline.beside("handover")
    over.trigger("nameless")
    over.until("nameless", "handover", "failed")
    assert "name the run that takes over" in over.log("nameless", "handover")
    over.trigger("over", run="green")
    over.until("over", "", "success")
    assert over.states("over") == {"handover": "success"}
    assert pipeline.jobs() == {"blue": "KILLED", "green": "RUNNING"}
    pipeline.until("blue", "monitor", "skipped")
    assert pipeline.state("green", "monitor") == "deferred"


def test_an_increment_has_no_backfill_comes_after_the_one_before_and_ends_with_its_dag_run(stage):
    nightly = stage.pipeline("nightly_flights", schedule='"15 3 1 1 *"')
    stage.cluster.script(pipeline=nightly.name, step=1)
    answer = stage.airflow.ask(
        "POST",
        "backfills",
        dag_id=nightly.name,
        from_date="2026-01-01T00:00:00Z",
        to_date="2026-01-02T00:00:00Z",
    )
    assert answer.status_code == 400
    assert "does not allow backfill runs" in answer.json()["detail"]
    run = nightly.first_run()  # of the schedule, for the last time that has passed
    nightly.until(run, "wait_for_progress", "deferred")
    assert nightly.jobs() == {"increments": "RUNNING"}
    nightly.trigger("by-hand")
    nightly.stays(lambda: nightly.state("by-hand") == "queued")
    assert nightly.delete("by-hand") == 204
    nightly.mark(run, "failed")
    nightly.until_jobs(increments="KILLED")
