"""How long the page of an old pipeline takes to open, in a browser that has never seen it.

Starts Airflow with a pipeline of a year, 64 lanes and 4,000,000 rows, and opens its page with a new
profile each time: as the first page since Airflow was started, then without any answer that was
kept, then with one, then as a tab of the DAG. What is counted in the tables is as a driver leaves
it; the audit that begins with Airflow is ended before. Needs Debian's chromium and chromium-driver.
`python -m benchmarks.page --help`.
"""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
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

from benchmarks.figures import README, machine, machine_line, markdown, replace_block
from benchmarks.overview import OldRun
from infra import stack
from infra.airflow_api import AirflowApi
from infra.endpoints import Endpoints
from infra.layout import Layout
from jobs.overview.updater import Updater

PATIENCE_S = 120.0
QUIET_S = 20.0
"""How long Airflow is left alone before its first page: an audit's command takes so long to end."""

LANES = (By.CSS_SELECTOR, "#lanes tbody tr")
AUDITS = "audit_nightly"


@dataclass(frozen=True)
class PageTiming:
    """How a page was opened.

    Attributes:
        load: the load average of the minute before.
    """

    seconds: float
    load: float


def main(
    lanes: Annotated[int, typer.Option(help="Number of lanes.")] = 64,
    batches: Annotated[int, typer.Option(help="Number of batches, over a year.")] = 4_000,
    rows: Annotated[int, typer.Option(help="Number of rows.")] = 4_000_000,
    rounds: Annotated[int, typer.Option(help="How often Airflow is started for it.")] = 5,
) -> None:
    """Measure it, and write the figures into the README: seconds until all lanes are there."""
    with tempfile.TemporaryDirectory(prefix="slackwater-page-") as name:
        layout = Layout(Path(name) / "state", Path(name) / "pipelines")
        layout.pipelines.mkdir()
        old = OldRun(layout.state_dir, lanes=lanes, batches=batches, rows=rows)
        old.make()
        shutil.move(old.file, layout.pipelines)
        folder = layout.state_dir / "runs/old/r1"
        checkpoint = folder / "checkpoint"
        Updater(folder, checkpoint, old.tables, "r1", ["hourly"], bytes_max=None).update()
        found = [_round(layout, lanes) for _ in range(rounds)]
    table = [["opened", "seconds, median (min – max)"], *_spelled(found)]
    about = machine()
    said = f"{lanes} lanes, {batches:,} batches, {rows:,} rows; {rounds} starts of Airflow"
    loads = [opened.load for one in found for opened in one.values()]
    load = f"Load average while measuring: {min(loads):.1f} to {max(loads):.1f}"
    lines = [f"{said}. {load}.", "", *markdown(table), "", machine_line(about)]
    print("\n".join(lines))
    replace_block(README, "page", lines)


def _round(layout: Layout, lanes: int) -> dict[str, PageTiming]:
    kept = layout.state_dir / "page/old.json"
    kept.unlink(missing_ok=True)
    try:
        airflow = stack.up(only=["airflow"], layout=layout)
        with AirflowApi(airflow) as api:
            _settle(api)
        first = _opened(airflow, lanes)
        kept.unlink()
        again = _opened(airflow, lanes)
        known = _opened(airflow, lanes)
        kept.unlink()
        around, framed = _framed(airflow, lanes)
    finally:
        stack.down(layout=layout)
    return {
        "as the first page since Airflow was started": first,
        "later, without an answer that was kept": again,
        "with the last answer": known,
        "Airflow's own page with the tabs of the DAG": around,
        "and then ours in its tab, without an answer that was kept": framed,
    }


def _settle(api: AirflowApi) -> None:
    """Wait until Airflow has read the DAGs, and end the audit that begins by itself then."""
    until_s = time.monotonic() + PATIENCE_S
    while not (runs := api.runs(AUDITS)):
        if time.monotonic() > until_s:
            msg = f"Airflow has no run of {AUDITS} after {PATIENCE_S:g} s: see its logs"
            raise TimeoutError(msg)
        time.sleep(0.5)
    for run in runs:
        api.let_go(AUDITS, run["dag_run_id"])
    time.sleep(QUIET_S)


def _spelled(found: list[dict[str, PageTiming]]) -> Iterator[list[str]]:
    for name in found[0]:
        seconds = [one[name].seconds for one in found]
        span = f"({min(seconds):.2f} – {max(seconds):.2f})"
        yield [name, f"{statistics.median(seconds):.2f} {span}"]


def _opened(airflow: Endpoints, lanes: int) -> PageTiming:
    with _logged_in(airflow) as browser:
        load, began_s = os.getloadavg()[0], time.perf_counter()
        browser.get(f"{airflow.airflow_url}/pipelines/old/")
        _until_all(browser, lanes)
        return PageTiming(time.perf_counter() - began_s, load)


def _framed(airflow: Endpoints, lanes: int) -> tuple[PageTiming, PageTiming]:
    """Open the page as a tab of its DAG; return what Airflow's own page takes, and then ours."""
    with _logged_in(airflow) as browser:
        wait = WebDriverWait(browser, PATIENCE_S, poll_frequency=0.02)
        load, began_s = os.getloadavg()[0], time.perf_counter()
        browser.get(f"{airflow.airflow_url}/dags/old/plugin/pipeline")
        wait.until(presence_of_element_located((By.TAG_NAME, "iframe")))
        framed_s = time.perf_counter()
        wait.until(frame_to_be_available_and_switch_to_it((By.TAG_NAME, "iframe")))
        _until_all(browser, lanes)
        return PageTiming(framed_s - began_s, load), PageTiming(
            time.perf_counter() - framed_s, load
        )


def _until_all(browser: webdriver.Chrome, lanes: int) -> None:
    wait = WebDriverWait(browser, PATIENCE_S, poll_frequency=0.02)
    wait.until(lambda page: len(page.find_elements(*LANES)) == lanes)


@contextmanager
def _logged_in(airflow: Endpoints) -> Iterator[webdriver.Chrome]:
    """A new browser that has only logged in, and has nothing in its cache."""
    with _browser() as browser:
        wait = WebDriverWait(browser, PATIENCE_S, poll_frequency=0.02)
        browser.get(airflow.airflow_url)
        wait.until(presence_of_element_located((By.NAME, "username")))
        browser.find_element(By.NAME, "username").send_keys(airflow.airflow_user)
        browser.find_element(By.NAME, "password").send_keys(airflow.airflow_password)
        browser.find_element(By.CSS_SELECTOR, "button[type=submit]").click()
        wait.until_not(url_contains("/login"))
        browser.get("about:blank")  # Airflow's own page is not to load beside ours
        browser.execute_cdp_cmd("Network.clearBrowserCache", {})
        yield browser


@contextmanager
def _browser() -> Iterator[webdriver.Chrome]:
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
