"""How long the page of an old pipeline takes to open, in a browser that has never seen it.

Starts Airflow with a pipeline of a year, 64 lanes and 4,000,000 rows, and opens its page with a new
profile each time: as the first page since Airflow was started, then without any answer that was
kept, then with one. What is counted in the tables is as a driver leaves it. Needs Debian's chromium
and chromium-driver. `python -m benchmarks.page --help`.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.expected_conditions import (
    frame_to_be_available_and_switch_to_it,
    presence_of_element_located,
    url_contains,
)
from selenium.webdriver.support.ui import WebDriverWait

from benchmarks.old_run import OldRun
from infra import stack
from infra.endpoints import Endpoints
from infra.layout import Layout
from jobs.overview.keeper import Keeper

PATIENCE_S = 120.0
LANES = (By.CSS_SELECTOR, "#lanes tbody tr")


def main(
    lanes: Annotated[int, typer.Option(help="Number of lanes.")] = 64,
    batches: Annotated[int, typer.Option(help="Number of batches, over a year.")] = 4_000,
    rows: Annotated[int, typer.Option(help="Number of rows.")] = 4_000_000,
    rounds: Annotated[int, typer.Option(help="How often each is measured.")] = 3,
) -> None:
    """Measure it; seconds of the wall clock until all lanes are there."""
    with tempfile.TemporaryDirectory(prefix="slackwater-page-") as name:
        layout = Layout(Path(name) / "state", Path(name) / "pipelines")
        layout.pipelines.mkdir()
        old = OldRun(layout.state_dir, lanes=lanes, batches=batches, rows=rows)
        old.make()
        shutil.move(old.file, layout.pipelines)
        folder, kept = layout.state_dir / "runs/old/r1", layout.state_dir / "page/old.json"
        Keeper(folder, old.tables, "r1", ["hourly"], bytes_max=None).keep()
        try:
            airflow = stack.up(only=["airflow"], layout=layout)
            for number in range(rounds):
                kept.unlink(missing_ok=True)
                first = _opened(airflow, lanes, in_airflow=False)
                kept.unlink()
                again = _opened(airflow, lanes, in_airflow=False)
                known = _opened(airflow, lanes, in_airflow=False)
                framed = _opened(airflow, lanes, in_airflow=True)
                what = "the first page of all" if number == 0 else "nothing kept"
                print(f"{what} {first:.2f} s; nothing kept {again:.2f} s; kept {known:.2f} s; ")
                print(f"as a tab of the DAG, with all of Airflow's own page {framed:.2f} s")
        finally:
            stack.down(layout=layout)


def _opened(airflow: Endpoints, lanes: int, *, in_airflow: bool) -> float:
    """Open the page in a new browser, which has only logged in; return the seconds it took."""
    with _browser() as browser:
        wait = WebDriverWait(browser, PATIENCE_S, poll_frequency=0.02)
        browser.get(airflow.airflow_url)
        wait.until(presence_of_element_located((By.NAME, "username")))
        browser.find_element(By.NAME, "username").send_keys(airflow.airflow_user)
        browser.find_element(By.NAME, "password").send_keys(airflow.airflow_password)
        browser.find_element(By.CSS_SELECTOR, "button[type=submit]").click()
        wait.until_not(url_contains("/login"))
        browser.execute_cdp_cmd("Network.clearBrowserCache", {})
        path = "dags/old/plugin/pipeline" if in_airflow else "pipelines/old/"
        began_s = time.perf_counter()
        browser.get(f"{airflow.airflow_url}/{path}")
        if in_airflow:
            wait.until(frame_to_be_available_and_switch_to_it((By.TAG_NAME, "iframe")))
        wait.until(lambda page: len(page.find_elements(*LANES)) == lanes)
        return time.perf_counter() - began_s


@contextmanager
def _browser() -> Iterator[webdriver.Chrome]:
    """A new browser with a new profile."""
    options = webdriver.ChromeOptions()
    for argument in ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    driver = webdriver.Chrome(
        options=options, service=webdriver.ChromeService(shutil.which("chromedriver"))
    )
    try:
        yield driver
    finally:
        driver.quit()


if __name__ == "__main__":
    typer.run(main)
