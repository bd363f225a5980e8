"""The page of pipelines: what it shows, who may see it, who may act."""

import copy
import json
import os
import re
import shutil
import time
from urllib.parse import quote

import pytest
from pages import NAME, SENT, example, login, page

HOSTILE = "<script>alert(1)</script>"

FOLLOWING = "overview --follow"
"""How the application calls the command when it starts."""

WAYS = ["/", f"/{NAME}/", f"/{NAME}/overview.json", f"/{NAME}/rows?run=r&query=hourly"]


@pytest.mark.usefixtures("replies")
@pytest.mark.parametrize("way", [*WAYS, f"/{NAME}/why?run=r&query=hourly&window=1"])
def test_nothing_is_shown_without_a_login(anybody, way):
    assert anybody.get(way).status_code == 401
    assert anybody.post(f"/{NAME}/actions", data={"action": "stop"}).status_code == 401


@pytest.mark.usefixtures("replies")
def test_the_page_shows_what_the_command_says(anybody):
    shown, one = page(login(anybody)), example()
    for lane in one["lanes"]:
        assert lane["lane"] in shown
        assert f"{lane['offset']:,}" in shown
    (release,) = {lane["release"] for lane in one["lanes"] if lane["holds_back"]}
    assert f"holds windows back: {release} releases the oldest" in shown
    for output in one["outputs"]:
        assert output["freshness"]["sentence"] in shown
        assert f"{output['rows']:,}" in shown
    assert one["open_windows"][0]["oldest"] in shown
    assert all(letters["remedy"] in shown for letters in one["dead_letters"])
    assert shown.count('<figure class="chart">') >= 6
    assert "rows?run=r2&amp;query=hourly" in shown
    assert f"/data-docs/{NAME}/index.html" not in shown  # the example's are in another project


@pytest.mark.usefixtures("replies")
def test_values_of_the_log_stay_text(anybody):
    shown = page(login(anybody))
    assert HOSTILE not in shown
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in shown


def test_rows_and_records_are_a_click_away_and_stay_text(anybody, replies):
    row = {"run": "r2", "query": "hourly", "window_id": 7, "window_start": "s", "origin": HOSTILE}
    (replies / "newest.json").write_text(json.dumps({**row, "flights": 3}))
    record = {"lane": "flights/0", "offset": 41, "revision": 0, "value": HOSTILE}
    held = {"complete": True, "revisions": [{"revision": 0, "records": 1}], "records": [record]}
    (replies / "why.json").write_text(json.dumps(held))
    (replies / "why.txt").write_text(f"window of {HOSTILE}: closed")
    client = login(anybody)
    rows = page(client, f"/{NAME}/rows?run=r2&query=hourly")
    assert HOSTILE not in rows
    address = "run=r2&query=hourly&window=7&key=%3Cscript%3Ealert%281%29%3C%2Fscript%3E"
    assert f"records?{address}".replace("&", "&amp;") in rows
    shown = page(client, f"/{NAME}/records?{address}")
    assert HOSTILE not in shown
    assert '<td class="n">41</td>' in shown
    assert f"why?{address}".replace("&", "&amp;") in shown
    said = page(client, f"/{NAME}/why?{address}")
    assert HOSTILE not in said
    assert ": closed" in said
    file = f"pipelines/{NAME}.yml"
    asked = f"why {file} --run r2 --query hourly --window=7 --key={HOSTILE}"
    calls = (replies / "calls").read_text().splitlines()
    assert [call for call in calls if call != FOLLOWING] == [
        f"newest {file} --run r2 --query hourly --last 50 --json",
        f"{asked} --records --json",
        asked,
    ]


@pytest.mark.usefixtures("replies")
@pytest.mark.parametrize(
    "way",
    [
        "/other/",
        "/..%2f..%2fetc/",
        "/--help/",
        f"/{NAME}/rows?run=--force&query=q",
        f"/{NAME}/why?run=r&query=q&window=--input",
        f"/{NAME}/why?run=r&query=q%0a&window=1",
    ],
)
def test_nothing_else_reaches_the_command(anybody, replies, way):
    assert login(anybody).get(way).status_code in (404, 422)
    calls = replies / "calls"
    assert not calls.exists() or calls.read_text().splitlines() == [FOLLOWING]


@pytest.mark.usefixtures("replies")
@pytest.mark.parametrize("way", [*WAYS, "/other/"])
def test_no_page_may_run_a_script_or_load_anything(anybody, way):
    for answer in (anybody.get(way), login(anybody).get(way)):
        policy = {
            part.split()[0]: part.split()[1:]
            for part in answer.headers["Content-Security-Policy"].split(";")
        }
        assert policy["default-src"] == policy["base-uri"] == ["'none'"]
        assert "script-src" not in policy
        assert "http" not in answer.headers["Content-Security-Policy"]
        if "json" not in answer.headers["Content-Type"]:
            assert "<script" not in answer.text
        assert 'src="http' not in answer.text


def test_fifty_pipelines_have_those_first_that_somebody_has_to_look_at(anybody, replies):
    many = []
    for number in range(50):
        one = copy.deepcopy(example("never_run" if number % 2 else NAME))
        one["pipeline"] = f"p{number:02}"
        many.append(one)
    (replies / "overview.json").write_text(json.dumps(many))
    client = login(anybody)
    shown = page(client, "/")
    assert shown.count('class="lights"') == 50
    assert shown.index(">p00<") < shown.index(">p48<") < shown.index(">p01<")
    assert "never run" in shown
    filtered = page(client, "/?search=P07")
    assert filtered.count('class="lights"') == 1
    assert "49 more have another name" in filtered
    # The call for all of them has answered for each.
    assert json.loads((replies.parent / "state/page/p07.json").read_text())[0]["pipeline"] == "p07"


def test_a_pipeline_that_never_ran_and_one_that_has_failed(anybody, replies):
    never = example("never_run")
    (replies / "overview.json").write_text(json.dumps(never))
    assert "It has never run." in page(login(anybody))
    failed = example()
    failed["state"] = {**failed["state"], "state": "failed", "why": "topic flights was deleted"}
    failed["light"] = {"colour": "red", "reasons": ["the job has failed"]}
    (replies / "overview.json").write_text(json.dumps(failed))
    shutil.rmtree(replies.parent / "state" / "page")
    shown = page(anybody)
    assert "<b>failed</b>, topic flights was deleted" in shown
    assert "the job has failed" in shown


def test_an_answer_is_shown_at_once_and_replaced_behind_it(anybody, replies, monkeypatch):
    client = login(anybody)
    page(client)
    kept = replies.parent / "state" / "page" / f"{NAME}.json"
    monkeypatch.setattr("dags.page.answers.FRESH_S", 0.0)
    newer = example()
    newer["lanes"][0]["offset"] = 987654321
    (replies / "overview.json").write_text(json.dumps(newer))
    assert "987,654,321" not in page(client)
    until = time.monotonic() + 30
    while "987654321" not in kept.read_text() and time.monotonic() < until:
        time.sleep(0.05)
        client.get("/")
    assert "987,654,321" in page(client)


def test_a_look_that_fails_says_so_and_keeps_the_last_answer(anybody, replies, monkeypatch):
    client = login(anybody)
    page(client)
    monkeypatch.setattr("dags.page.answers.FRESH_S", 0.0)
    (replies / "overview.json").unlink()
    until = time.monotonic() + 30
    while "The last look failed" not in (shown := page(client)) and time.monotonic() < until:
        time.sleep(0.05)
    assert "The last look failed: nothing is known of overview" in shown
    assert "flights/0" in shown


@pytest.mark.usefixtures("replies")
@pytest.mark.parametrize(
    "headers",
    [
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"origin": "null"},
        {},
    ],
)
def test_a_form_of_another_site_is_refused(anybody, headers):
    client = login(anybody, "admin")
    answer = client.post(f"/{NAME}/actions", data={"action": "stop"}, headers=headers)
    assert answer.status_code == 403


@pytest.mark.usefixtures("replies")
@pytest.mark.parametrize(
    ("form", "status"),
    [
        ({"action": "dance"}, 404),
        ({"action": "resume"}, 422),
        ({"action": "shadow", "run": "../r"}, 422),
        ({"action": "replay", "run": "r", "replay_from": "--force"}, 422),
        ({"action": "chaos"}, 422),
    ],
)
def test_a_form_that_cannot_be_carried_out_says_why(anybody, form, status):
    client = login(anybody, "op")
    answer = client.post(f"/{NAME}/actions", data=form, headers=SENT)
    assert answer.status_code == status, answer.text
    assert answer.json()["detail"]


def test_a_pipeline_without_a_dag_cannot_be_acted_on(anybody, replies):
    file = replies.parent / "project" / "pipelines" / f"{NAME}.yml"
    file.write_text(file.read_text().replace(f"name: {NAME}", "name: ghost"))
    client = login(anybody, "op")
    answer = client.post("/ghost/actions", data={"action": "stop"}, headers=SENT)
    assert answer.status_code == 404
    assert "ghost" in answer.json()["detail"]


FORMS = {
    "deploy": ({}, {}),
    "stop": ({}, {}),
    "resume": ({"run": "r1"}, {"run": "r1"}),
    "shadow": ({"run": "r2"}, {"on_change": "beside", "run": "r2"}),
    "handover": ({"run": "r2"}, {"run": "r2"}),
    "verify": ({"run": "r1"}, {"run": "r1"}),
    "replay": (
        {"run": "r1", "replay_from": '{"0": 100}', "replay_to": ""},
        {"run": "r1", "replay_from": '{"0": 100}'},
    ),
    "chaos": ({"plan": "first"}, {"plan": "first"}),
}
OWN = ("stop", "handover", "verify", "replay")
"""The buttons that start a run of a DAG of their own."""

ROLES = {"viewer": False, "user": True, "op": True, "admin": True}
"""Whether each of Airflow's roles may trigger a DAG."""


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize("role", ROLES)
def test_whoever_may_trigger_the_dag_sees_all_buttons_and_nobody_else_any(anybody, role):
    shown = page(login(anybody, role))
    buttons = [action for action in FORMS if f'name="action" value="{action}"' in shown]
    assert buttons == (list(FORMS) if ROLES[role] else [])
    assert ("You may look at this pipeline; to act, you need" in shown) is not ROLES[role]


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize("action", FORMS)
def test_an_action_starts_a_run_of_its_dag_for_those_who_may_trigger_it(anybody, action):
    from airflow.models.dagrun import DagRun
    from airflow.utils.session import create_session

    form, conf = FORMS[action]
    data = {"action": action, **form}
    dag = "chaos_nightly" if action == "chaos" else f"{NAME}.{action}" if action in OWN else NAME
    for role, may in ROLES.items():
        client = login(anybody, role)
        answer = client.post(f"/{NAME}/actions", data=data, headers=SENT, follow_redirects=False)
        assert answer.status_code == (303 if may else 403), answer.text
        with create_session() as session:
            runs = session.query(DagRun).filter_by(triggering_user_name=f"a-{role}").all()
            assert [(run.dag_id, run.conf) for run in runs] == [(dag, conf)] * may
            for run in runs:
                # To load the page again, which a browser is led to, starts nothing.
                started_page = page(client, f"/{NAME}/{answer.headers['location']}")
                assert f"<code>{run.run_id}</code>" in started_page
                session.delete(run)
        if not may:
            assert "you have no right to trigger that DAG" in answer.json()["detail"]


@pytest.mark.usefixtures("stored", "replies")
@pytest.mark.parametrize("end", ["stop", "verify", "news"])
def test_the_tab_of_a_dag_beside_a_pipelines_leads_to_the_pipeline(anybody, end):
    answer = login(anybody).get(f"/{NAME}.{end}/", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (307, f"../{NAME}/")


@pytest.mark.usefixtures("stored")
def test_what_ends_or_breaks_a_job_is_asked_for_twice(anybody):
    """Without a script: the button that acts is behind another one."""
    shown = page(login(anybody, "op"))
    forms = re.findall(r"<form .*?</form>", shown, re.DOTALL)
    names = [re.search(r'name="action" value="(\w+)"', form)[1] for form in forms]
    asked = {name for name, form in zip(names, forms, strict=True) if "<details>" in form}
    assert asked == {"stop", "handover", "chaos"}
    assert "Stop it?</p><button>Stop r2 now</button></details>" in shown


@pytest.mark.usefixtures("stored")
def test_the_page_says_its_age_where_it_has_buttons(anybody, monkeypatch):
    from dags.page import answers

    monkeypatch.setattr(answers, "FRESH_S", 1e9)
    client = login(anybody, "op")
    answers._keep(NAME, [example()])
    kept = answers._file(NAME)
    os.utime(kept, (kept.stat().st_atime, time.time() - 540))
    shown = page(client)
    old = r"9(\.\d+)? min ago"
    assert re.search(f'Looked at <span class="yellow">{old}</span>', shown)
    assert re.search(f'<p class="yellow">For what is shown here, as it was {old}; if that', shown)
    os.utime(kept)
    assert "Looked at <span>" in page(client)


@pytest.mark.usefixtures("stored")
def test_a_run_of_a_paused_dag_says_so_and_can_begin(anybody):
    from airflow.models.dag import DagModel
    from airflow.utils.session import create_session

    def paused(value=None):
        with create_session() as session:
            dag = DagModel.get_current(f"{NAME}.verify", session=session)
            dag.is_paused = dag.is_paused if value is None else value
            return dag.is_paused

    paused(True)
    client = login(anybody, "op")
    form = {"action": "verify", "run": "r1"}
    answer = client.post(f"/{NAME}/actions", data=form, headers=SENT, follow_redirects=False)
    place, run = f"/{NAME}/{answer.headers['location']}", answer.json()["dag_run_id"]
    shown = page(client, place)
    assert "The DAG is paused: the run begins once it is unpaused." in shown
    assert f'<a href="../../dags/{NAME}.verify/runs/{quote(run)}">' in shown
    assert f"<button>Unpause {NAME}.verify</button>" in shown
    pressed = {"action": "verify", "dag_run": run}

    def press(client, headers=SENT, **more):
        data = pressed | more
        path = f"/{NAME}/unpause"
        return client.post(path, data=data, headers=headers, follow_redirects=False)

    assert press(client, headers={"sec-fetch-site": "cross-site"}).status_code == 403
    assert press(client, dag_run="none").status_code == 404
    viewer = login(client, "viewer")
    assert press(viewer).status_code == 403
    assert "<button>" not in page(viewer, place)
    assert paused()
    answer = press(login(client, "op"))
    assert (answer.status_code, f"/{NAME}/{answer.headers['location']}") == (303, place)
    assert not paused()
    assert "The DAG is paused" not in page(client, place)


@pytest.mark.usefixtures("stored")
def test_a_refusal_is_a_page_for_a_browser(anybody):
    asked = SENT | {"accept": "text/html,*/*;q=0.8"}
    client = login(anybody, "viewer")
    answer = client.post(f"/{NAME}/actions", data={"action": "stop"}, headers=asked)
    assert answer.status_code == 403
    assert f"Stop: you may look, but this starts a run of {NAME}.stop" in answer.text
    assert '<a href="./">back</a>' in answer.text
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize("asked", ["action=stop&dag_run=none", "action=dance&dag_run=none"])
def test_no_run_is_shown_that_no_action_has_started(anybody, asked):
    assert login(anybody).get(f"/{NAME}/started?{asked}").status_code == 404
