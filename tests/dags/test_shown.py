"""An action is for what the page showed: another run or another file by then, and nothing is done.

First the page's forms, then the DAG runs that they start, whose tasks may begin days later.
"""

import json
import re
from datetime import timedelta

import pytest
from conftest import load_dags, run_through, states
from pages import FILE, NAME, SENT, example, login, page

from dags.entities import digest_of, run_name

AT = "2026-11-23T13:00:01+00:00"
NOTHING = "nothing was done: look at the pipeline's page again"


def job(run: str, *, live: bool) -> str:
    """A line of `slackwater runs --json`."""
    return json.dumps(
        {"run": run, "state": "running", "why": None, "live": live, "submitted_at": AT}
    )


def hidden(shown: str, action: str) -> dict[str, str]:
    """The hidden fields of a button's form, as a browser sends them."""
    forms = re.findall(r"<form method=\"post\".*?</form>", shown, re.DOTALL)
    (form,) = (one for one in forms if f'name="action" value="{action}"' in one)
    return dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', form))


@pytest.fixture
def operator(stored, anybody):
    """A client who may act, logged in."""
    return login(anybody, "op")


def press(client, form, **more):
    data = {**form, **more}
    return client.post(f"/{NAME}/actions", data=data, headers=SENT, follow_redirects=False)


def dag_runs(user="a-op") -> list:
    from airflow.models.dagrun import DagRun
    from airflow.utils.session import create_session

    with create_session() as session:
        found = session.query(DagRun).filter_by(triggering_user_name=user).all()
        session.expunge_all()
        return found


@pytest.fixture(autouse=True)
def no_dag_runs(airflow_database):
    """Begin without DAG runs and audit entries of users."""
    from airflow.models.dagrun import DagRun
    from airflow.models.log import Log
    from airflow.utils.session import create_session

    with create_session() as session:
        for run in session.query(DagRun).all():
            session.delete(run)
        session.query(Log).delete()


def test_what_the_page_showed_goes_with_the_form_and_into_the_dag_run(operator, replies):
    (replies / "runs.json").write_text(job("r2", live=True))
    shown, digest = page(operator), digest_of((replies.parent / "project" / FILE).read_bytes())
    assert digest[:12] in shown
    actions = ("deploy", "stop", "resume", "shadow", "handover", "verify", "replay")
    for action in actions:
        form = hidden(shown, action)
        assert form == {"action": action, "shown_run": "r2", "shown_file": digest}
        answer = press(operator, form, run="r3" if action == "shadow" else "r2")
        assert answer.status_code == 303, answer.text
    assert [run.conf["shown"] for run in dag_runs()] == [{"run": "r2", "file": digest}] * 7


def test_a_run_that_is_the_live_one_by_now_is_not_acted_on(operator, replies):
    form = hidden(page(operator), "stop")
    (replies / "runs.json").write_text(f"{job('r2', live=False)}\n{job('r7', live=True)}")
    answer = press(operator, form)
    assert answer.status_code == 409
    said = f"the page showed run r2, and now run r7 is the live one; {NOTHING}"
    assert answer.json()["detail"] == said
    assert dag_runs() == []


def test_a_file_that_is_another_by_now_is_not_acted_on(operator, replies):
    form = hidden(page(operator), "deploy")
    file = replies.parent / "project" / FILE
    before = digest_of(file.read_bytes())[:12]
    file.write_text(file.read_text() + "# changed\n")
    answer = press(operator, form)
    assert answer.status_code == 409
    now = digest_of(file.read_bytes())[:12]
    said = (
        f"the page showed {FILE} with the sha256 {before}, and now its sha256 is {now}; {NOTHING}"
    )
    assert answer.json()["detail"] == said
    assert dag_runs() == []


def test_a_pipeline_that_had_never_run_is_not_one_that_runs(operator, replies):
    (replies / "overview.json").write_text(json.dumps(example("never_run") | {"pipeline": NAME}))
    form = hidden(page(operator), "deploy")
    assert form["shown_run"] == ""
    (replies / "runs.json").write_text(job("r1", live=True))
    answer = press(operator, form)
    assert answer.status_code == 409
    assert "the page showed no run, and now run r1 is the live one" in answer.json()["detail"]
    (replies / "runs.json").write_text("")
    assert press(operator, form).status_code == 303


def test_where_the_live_run_is_unknown_nothing_is_done(operator):
    answer = press(operator, hidden(page(operator), "stop"))
    assert answer.status_code == 503
    assert "it cannot be told which run is the live one: nothing is known of runs" in answer.text
    assert dag_runs() == []


def test_actions_and_refusals_are_in_airflows_audit_log(operator, replies):
    from airflow.models.log import Log
    from airflow.utils.session import create_session

    (replies / "runs.json").write_text(job("r2", live=True))
    form = hidden(page(operator), "stop")
    assert press(operator, form).status_code == 303
    (run,) = dag_runs()
    assert press(operator, {"action": "chaos", "plan": "first"}).status_code == 303
    (replies / "runs.json").write_text(job("r7", live=True))
    assert press(operator, form).status_code == 409
    assert press(login(operator, "viewer"), form).status_code == 403
    with create_session() as session:
        found = session.query(Log).filter(Log.event.like("pipeline_%")).order_by(Log.id).all()
        entries = [(one.event, one.owner, one.dag_id) for one in found]
        ids = [one.run_id for one in found]
        extra = [json.loads(one.extra) for one in found]
    assert entries == [
        ("pipeline_stop", "a-op", f"{NAME}.stop"),
        ("pipeline_chaos", "a-op", "chaos_nightly"),
        ("pipeline_stop", "a-op", f"{NAME}.stop"),
        ("pipeline_stop", "a-viewer", f"{NAME}.stop"),
    ]
    assert ids[0] == run.run_id
    assert extra[0] == {"pipeline": NAME, "conf": run.conf}
    assert "run r7 is the live one" in extra[2]["refused"]
    assert "no right to trigger" in extra[3]["refused"]


# The tasks.


@pytest.fixture
def act(pipelines, cluster):
    """What triggers the DAG of an action with a `conf`; returns the DAG run once it has ended."""

    def run(action="deploy", /, **conf):
        dags = load_dags()  # anew: a DAG keeps the parameters of its last run here
        if action != "deploy":
            return run_through(dags[f"{NAME}.{action}"], **conf)
        dag = dags[NAME]
        for task in ("wait_for_progress", "submit"):
            dag.get_task(task).poll_s = 0.05
            dag.get_task(task).retry_delay = timedelta(0)
        return run_through(dag, **conf)

    return run


@pytest.fixture
def file(pipelines):
    """The file in the folder that the tasks read."""
    from dags.operators.command import project_root

    return project_root() / FILE


def shown(file, run) -> dict:
    return {"shown": {"run": run, "file": digest_of(file.read_bytes())}}


def submit(run: str, *options: str) -> None:
    """Have a run, as the command submits one."""
    from dags.operators.command import Command

    Command(["submit", FILE, "--run", run, *options], print).run()


ACTS = {
    "stop": {},
    "handover": {"run": "green"},
    "verify": {"run": "monday"},
    "replay": {"run": "monday"},
}


@pytest.mark.parametrize("action", ACTS)
def test_a_task_leaves_a_run_alone_that_was_not_shown(act, file, cluster, action, capfd):
    """Stop of Monday, and Friday's run is the live one when the task begins."""
    submit("monday")
    asked = shown(file, "monday")
    submit("friday", "--replace")
    before = cluster.drivers(NAME)
    run = act(action, **ACTS[action], **asked)
    assert states(run) == {action: "failed"}
    assert cluster.calls(action) == []
    assert cluster.drivers(NAME) == before
    said = "".join(capfd.readouterr())
    assert "the page showed run monday, and now run friday is the live one" in said


@pytest.mark.parametrize("action", ["deploy", *ACTS])
def test_a_task_leaves_a_file_alone_that_was_not_shown(act, file, cluster, action, capfd):
    submit("monday")
    asked, before = shown(file, "monday"), len(cluster.calls("submit"))
    file.write_text(file.read_text() + "# changed\n")
    run = act(action, **ACTS.get(action, {}), **asked)
    assert states(run)["validate" if action == "deploy" else action] == "failed"
    assert len(cluster.calls("submit")) == before
    assert "stop" not in {call["arguments"][0] for call in cluster.calls()}
    assert f"the page showed {FILE} with the sha256 {asked['shown']['file'][:12]}" in "".join(
        capfd.readouterr()
    )


def test_a_deployment_leaves_a_run_alone_that_was_not_shown(act, file, cluster):
    submit("friday")
    before = cluster.drivers(NAME), len(cluster.calls("submit"))
    run = act(**shown(file, None))
    assert states(run)["submit"] == "failed"
    (ti,) = (one for one in run.get_task_instances() if one.task_id == "submit")
    assert ti.try_number == 1  # a retry would not help
    assert (cluster.drivers(NAME), len(cluster.calls("submit"))) == before


def test_what_was_shown_is_acted_on(act, file, cluster):
    cluster.script(step=300)
    first = act(**shown(file, None))
    name = run_name(first.run_id, 0)
    assert cluster.drivers(NAME) == {name: "RUNNING"}
    for action, conf in (("deploy", {}), ("verify", {"run": name}), ("stop", {})):
        assert act(action, **conf, **shown(file, name)).state == "success"
    assert cluster.drivers(NAME) == {name: "KILLED"}
    # Exactly the run that was shown, whichever is the live one in the next moment.
    assert cluster.calls("stop")[0]["arguments"] == ["stop", FILE, "--run", name]


def test_a_retry_finds_the_run_that_the_first_attempt_has_begun(act, file, cluster):
    cluster.script(state_after_submit="FAILED")
    run = act(**shown(file, None))
    assert states(run)["submit"] == "failed"
    assert len(cluster.calls("submit")) == 3


def test_a_note_that_no_page_makes_is_refused(act, cluster):
    run = act("stop", shown="r1")
    assert states(run)["stop"] == "failed"
    assert cluster.calls("stop") == []


@pytest.mark.parametrize(
    ("action", "conf"),
    [
        ("deploy", {"action": "stop"}),
        ("deploy", {"max_offset": 7}),
        ("stop", {"rnu": "green"}),
        ("handover", {"run": "green", "to": "blue"}),
        ("verify", {"replay_from": "2013-01-02"}),
    ],
)
def test_a_parameter_that_the_dag_has_not_is_refused(act, cluster, action, conf, capfd):
    """Airflow ignores it: the live run would be stopped, or the file deployed."""
    submit("monday")
    before = cluster.calls()
    first = "validate" if action == "deploy" else action
    assert states(act(action, **conf))[first] == "failed"
    assert cluster.calls() == before
    said = "".join(capfd.readouterr())
    assert f"has no parameter {[*conf][-1]}: it has" in said
    assert f"other actions have DAGs of their own: {NAME}.stop, {NAME}.handover" in said
