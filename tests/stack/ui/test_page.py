"""The page of a pipeline in a real browser, whatever there is to show."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
from deltalake import DeltaTable
from selenium import webdriver
from selenium.webdriver.common.by import By

from infra.endpoints import Endpoints
from tests.stack.ui.conftest import shows
from tests.stack.ui.page import DAG, READABLE, color, contrast, example, in_airflow, luminance, said

HOSTILE = "<script>document.body.textContent = 'taken over'</script>"
NARROW = 360
"""The width of a small telephone, in CSS pixels."""

pytestmark = pytest.mark.usefixtures("screenshot")


def contrasts(browser: webdriver.Chrome) -> dict[str, float]:
    """The contrast of what a page shows with its background."""
    page = color(browser.find_element(By.TAG_NAME, "body"), "background-color")
    shown = ("body", "a", "small", ".green", ".yellow", ".red", ".age")
    found = {what: browser.find_elements(By.CSS_SELECTOR, what) for what in shown}
    return {what: contrast(color(own[0], "color"), page) for what, own in found.items() if own}


def test_light_and_dark_follow_airflows_own_switch(
    logged_in: webdriver.Chrome, airflow: Endpoints
) -> None:
    backgrounds = {}
    with said(airflow, example()):
        for theme in ("dark", "light"):
            logged_in.switch_to.default_content()
            # Where Airflow's switch keeps its choice.
            logged_in.execute_script(f"localStorage.setItem('theme', '{theme}')")
            in_airflow(logged_in, airflow)
            body = logged_in.find_element(By.TAG_NAME, "body")
            backgrounds[theme] = luminance(color(body, "background-color"))
            found = contrasts(logged_in)
            assert len(found) > 4
            assert min(found.values()) >= READABLE, (theme, found)
    assert backgrounds["dark"] < 0.05
    assert backgrounds["light"] > 0.9


def test_a_narrow_window_scrolls_tables_and_not_the_page(
    logged_in: webdriver.Chrome, airflow: Endpoints
) -> None:
    metrics = {"width": NARROW, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    logged_in.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    wide = example()
    wide["outputs"][0]["quality"]["sentence"] = "a_word_that_never_ends_" * 20
    with said(airflow, wide), said(airflow, wide, of_all=True):
        for path in (f"pipelines/{DAG}/", "pipelines/"):
            logged_in.get(f"{airflow.airflow_url}/{path}")
            shows(logged_in, DAG)
            needed = logged_in.execute_script("return document.documentElement.scrollWidth")
            assert needed <= NARROW, path


def test_fifty_pipelines_and_the_filter(logged_in: webdriver.Chrome, airflow: Endpoints) -> None:
    many = []
    for number in range(50):
        one = copy.deepcopy(example("never_run" if number % 2 else DAG))
        one["pipeline"] = f"p{number:02}"
        many.append(one)
    with said(airflow, *many, of_all=True):
        logged_in.get(f"{airflow.airflow_url}/pipelines/")
        rows = logged_in.find_elements(By.CSS_SELECTOR, "tbody tr")
        names = [row.find_element(By.TAG_NAME, "a").text for row in rows]
        # Those that have run are red, and come before those that have not.
        assert names == [f"p{number:02}" for number in (*range(0, 50, 2), *range(1, 50, 2))]
        box = logged_in.find_element(By.NAME, "search")
        box.send_keys("P07")
        box.submit()
        shows(logged_in, "p07")
        assert len(logged_in.find_elements(By.CSS_SELECTOR, "tbody tr")) == 1


def test_a_job_that_has_died_is_red_and_says_why(
    logged_in: webdriver.Chrome, airflow: Endpoints
) -> None:
    dead = example()
    dead["state"] |= {"state": "failed", "why": "topic flights was deleted"}
    dead["light"] = {"colour": "red", "reasons": ["the job has failed: topic flights was deleted"]}
    with said(airflow, dead):
        in_airflow(logged_in, airflow)
        assert logged_in.find_element(By.CSS_SELECTOR, "header .light").text == "red"
        assert dead["light"]["reasons"][0] in logged_in.page_source


def test_hostile_content_stays_text(logged_in: webdriver.Chrome, airflow: Endpoints) -> None:
    bad = copy.deepcopy(example())
    for letters in bad["dead_letters"]:
        letters["examples"][0]["value"] = HOSTILE
    bad["light"]["reasons"] = [HOSTILE]
    bad["plan"] = HOSTILE
    bad["links"] = [{"name": HOSTILE, "href": "javascript:alert(1)"}]
    with said(airflow, bad), said(airflow, bad, of_all=True):
        for path in (f"pipelines/{DAG}/", "pipelines/"):
            logged_in.get(f"{airflow.airflow_url}/{path}")
            assert HOSTILE in logged_in.find_element(By.TAG_NAME, "body").text
            assert not logged_in.find_elements(By.TAG_NAME, "script")
            hrefs = [a.get_attribute("href") for a in logged_in.find_elements(By.TAG_NAME, "a")]
            assert not [href for href in hrefs if href and not href.startswith("http")]


def test_a_year_of_64_lanes_shows_what_is_in_the_tables(
    logged_in: webdriver.Chrome, airflow: Endpoints
) -> None:
    """By the real command, from real tables, with nothing known before."""
    in_airflow(logged_in, airflow, "old")
    tables = Path(airflow.state_dir) / "tables" / "old"
    rows = DeltaTable(str(tables / "hourly")).to_pyarrow_table(columns=["pane"]).to_pandas()
    dead = DeltaTable(str(tables / "dead_letters")).to_pyarrow_table(columns=["reason"]).to_pandas()
    cells = [cell.text for cell in logged_in.find_elements(By.CSS_SELECTOR, "#outputs td.n")]
    assert cells == [f"{len(rows):,}", f"{(rows['pane'] == 'late').sum():,}"]
    assert len(logged_in.find_elements(By.CSS_SELECTOR, "#lanes tbody tr")) == 64
    counts = dead["reason"].value_counts()
    letters = logged_in.find_elements(By.CSS_SELECTOR, "#dead summary")
    assert [one.text.split(":")[0] for one in letters] == [
        f"{count:,} {reason}"
        for reason, count in sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    ]
    records = logged_in.find_elements(By.CSS_SELECTOR, "#lanes tbody tr:first-child td.n")
    assert f"{400 * 1000:,}" in [cell.text for cell in records]
    assert len(logged_in.find_elements(By.CSS_SELECTOR, "#history svg")) >= 4
