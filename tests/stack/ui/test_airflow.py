"""The Airflow UI as a user of the pipelines sees it."""

from __future__ import annotations

from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.expected_conditions import (
    frame_to_be_available_and_switch_to_it,
    presence_of_element_located,
)
from selenium.webdriver.support.ui import WebDriverWait

from chaos.quality.run import check
from infra.endpoints import Endpoints
from infra.layout import Layout
from tests.stack.ui.conftest import PATIENCE_S, log_in_by_form, shows
from tests.unit.chaos.quality.test_expectations import LOG, OUTCOME, P
from tests.unit.chaos.verdict.test_verify import write_tables

DAG = "flight_delays"

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.mark.usefixtures("screenshot")
def test_a_pipeline_file_is_a_dag_with_its_steps(
    browser: webdriver.Chrome, airflow: Endpoints
) -> None:
    log_in_by_form(browser, airflow, airflow.airflow_user)
    browser.get(f"{airflow.airflow_url}/dags/{DAG}")
    for step in ("validate", "submit", "wait_for_progress", "quality"):
        shows(browser, step)


@pytest.mark.usefixtures("screenshot")
def test_the_data_docs_are_a_page_of_the_dag(
    logged_in: webdriver.Chrome, airflow: Endpoints, tmp_path: Path
) -> None:
    write_tables(tmp_path, P, OUTCOME)
    check(P, tmp_path, "r1", iter(LOG), Layout(airflow.state_dir).quality / DAG)
    logged_in.get(f"{airflow.airflow_url}/dags/{DAG}/plugin/data-docs")
    frame = frame_to_be_available_and_switch_to_it((By.TAG_NAME, "iframe"))
    WebDriverWait(logged_in, PATIENCE_S).until(frame)
    shows(logged_in, "Data Docs")
    page = logged_in.page_source
    assert all(query.name in page for query in P.flows)


@pytest.mark.usefixtures("screenshot")
def test_a_pipeline_has_a_page_whose_buttons_start_dag_runs(
    logged_in: webdriver.Chrome, airflow: Endpoints
) -> None:
    wait = WebDriverWait(logged_in, PATIENCE_S)
    logged_in.get(f"{airflow.airflow_url}/dags/{DAG}/plugin/pipeline")
    wait.until(frame_to_be_available_and_switch_to_it((By.TAG_NAME, "iframe")))
    # What the real command says of a pipeline that nobody has deployed.
    shows(logged_in, "It has never run.")
    assert "fused: lanes are scanned where they are decoded" in logged_in.page_source
    logged_in.find_element(By.XPATH, "//summary[text()='Actions']").click()
    logged_in.find_element(By.XPATH, "//summary[text()='Stop']").click()
    logged_in.find_element(By.XPATH, "//button[starts-with(text(), 'Stop')]").click()
    named = presence_of_element_located((By.XPATH, "//code[starts-with(text(), 'manual__')]"))
    run_id = wait.until(named).text
    logged_in.get(f"{airflow.airflow_url}/dags/{DAG}.stop/runs/{run_id}")
    shows(logged_in, "stop")


@pytest.mark.usefixtures("screenshot")
def test_all_pipelines_are_on_one_page(logged_in: webdriver.Chrome, airflow: Endpoints) -> None:
    logged_in.get(f"{airflow.airflow_url}/pipelines/")
    for name in (DAG, "route_sessions"):
        shows(logged_in, name)
    asked = "return performance.getEntriesByType('resource').map(one => one.name)"
    assert all(one.startswith(airflow.airflow_url) for one in logged_in.execute_script(asked))
