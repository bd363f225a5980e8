"""Who may do what on the page, with users of Airflow's own roles in a real browser."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By

from infra.airflow_api import AirflowApi
from infra.endpoints import Endpoints
from infra.layout import ROOT
from tests.stack.ui.conftest import OPERATOR, VIEWER, log_in, shows
from tests.stack.ui.page import DAG, example, in_airflow, press, said

pytestmark = pytest.mark.usefixtures("screenshot")

NIGHTLY = "chaos_nightly"
BUTTONS: dict[str, tuple[str, dict[str, str], dict[str, str]]] = {
    "deploy": (DAG, {}, {}),
    "stop": (f"{DAG}.stop", {}, {}),
    "resume": (DAG, {"run": "r1"}, {"run": "r1"}),
    "shadow": (DAG, {"run": "r3"}, {"on_change": "beside", "run": "r3"}),
    "handover": (f"{DAG}.handover", {"run": "r1"}, {"run": "r1"}),
    "verify": (f"{DAG}.verify", {"run": "r2"}, {"run": "r2"}),
    "replay": (
        f"{DAG}.replay",
        {"run": "r2", "replay_from": '{"0": 100}', "replay_to": "2013-01-02"},
        {"run": "r2", "replay_from": '{"0": 100}', "replay_to": "2013-01-02"},
    ),
    "chaos": (NIGHTLY, {"plan": "first"}, {"plan": "first"}),
}
"""Each button with the DAG that it starts a run of, what is filled in, and what the run gets."""

SENDS = """
const [path, form, told] = arguments;
fetch(path, {method: "POST", body: new URLSearchParams(form)}).then(
    async answer => told([answer.status, (await answer.json()).detail])
);
"""
"""What a page of Airflow's own site could send, with the login of whoever looks at it."""


def test_a_viewer_sees_everything_but_buttons_and_is_refused_each_action(
    browser: webdriver.Chrome, airflow: Endpoints
) -> None:
    log_in(browser, airflow, VIEWER)
    with said(airflow, example()):
        in_airflow(browser, airflow)
        assert browser.find_elements(By.CSS_SELECTOR, "#lanes tbody tr")
        assert not browser.find_elements(By.CSS_SELECTOR, "form, button")
        shows(
            browser,
            "You may look at this pipeline; to act, you need the right to trigger its DAGs.",
        )
    browser.switch_to.default_content()
    for button, (dag, fields, _) in BUTTONS.items():
        form = {"action": button, **fields}
        status, why = browser.execute_async_script(SENDS, f"/pipelines/{DAG}/actions", form)
        assert status == 403, button
        assert why.endswith(
            f"you may look, but this starts a run of {dag}, and you have no right to trigger "
            "that DAG"
        )
    assert started_by(airflow, VIEWER) == []


def test_an_operator_starts_a_dag_run_with_every_button(
    browser: webdriver.Chrome, airflow: Endpoints
) -> None:
    log_in(browser, airflow, OPERATOR)
    newest: dict[str, str] = {}
    digest = hashlib.sha256((ROOT / "pipelines" / f"{DAG}.yml").read_bytes()).hexdigest()
    shown = {"shown": {"run": None, "file": digest}}
    # It offers runs to choose from, and none is the live one: none has ever run here.
    with said(airflow, example() | {"run": None}):
        for button, (dag, fields, conf) in BUTTONS.items():
            browser.get(f"{airflow.airflow_url}/pipelines/{DAG}/")
            dag_id, run_id = press(browser, button, **fields)
            assert dag_id == dag
            (run,) = [one for one in started_by(airflow, OPERATOR) if one["dag_run_id"] == run_id]
            assert run["conf"] == conf | (shown if dag != NIGHTLY else {})
            newest[dag] = run_id
    # All are in Airflow; its own pages, which are slow to open, show the newest of each DAG.
    for dag, task in ((DAG, "submit"), (f"{DAG}.verify", "verify"), (NIGHTLY, "first")):
        browser.get(f"{airflow.airflow_url}/dags/{dag}/runs/{newest[dag]}")
        shows(browser, task)


def started_by(airflow: Endpoints, user: str) -> list[dict[str, Any]]:
    """The DAG runs that a user has started."""
    with AirflowApi(airflow) as api:
        found = [one for dag in {dag for dag, *_ in BUTTONS.values()} for one in api.runs(dag)]
    return [one for one in found if one["triggering_user_name"] == user]
