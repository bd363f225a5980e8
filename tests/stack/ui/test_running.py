"""The page of a pipeline that runs: deployed by its buttons, and every panel held against the log,
the tables and the files of the run.
"""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import httpx
import pytest
from deltalake import DeltaTable
from selenium import webdriver
from selenium.webdriver.common.by import By

from infra.airflow_api import AirflowApi
from infra.endpoints import Endpoints
from jobs.brokers.producing import send_all
from jobs.brokers.topics import create_topics
from tests.stack.ui import tides
from tests.stack.ui.conftest import OPERATOR, chromium_of, log_in, shows
from tests.stack.ui.page import press
from tests.stack.ui.tides import NAME, QUERY
from windowing.engine.plan import plan_of
from windowing.explain.pipeline import explain
from windowing.model import parse_pipeline

PATIENCE_S = 240.0
VERDICT = "lost 0, duplicated 0, differing 0"
LOG = tides.log()
ENDS = [sum(one.lane == lane for one in LOG) for lane in (0, 1)]
Found = TypeVar("Found")

pytestmark = pytest.mark.usefixtures("screenshot")


def wait_for(what: Callable[[], Found], message: str) -> Found:
    """The first true value."""
    until_s = time.monotonic() + PATIENCE_S
    while not (found := what()):
        assert time.monotonic() < until_s, message
        time.sleep(0.5)
    return found


@dataclass(frozen=True)
class Running:
    """The pipeline, running.

    Attributes:
        airflow: where.
        run: its run.
    """

    airflow: Endpoints
    run: str

    @property
    def folder(self) -> Path:
        return Path(self.airflow.state_dir) / "runs" / NAME / self.run

    @property
    def tables(self) -> Path:
        return Path(self.airflow.state_dir) / "tables" / NAME

    def rows(self, table: str) -> list[dict[str, Any]]:
        """All rows in a table."""
        return rows_of(self.airflow, table)

    def lines(self, name: str) -> list[dict[str, Any]]:
        """The lines of a file in the run's folder."""
        return [json.loads(line) for line in (self.folder / name).read_text().splitlines()]

    def open(self, browser: webdriver.Chrome, *, once: str = "", in_panel: str = "run") -> None:
        """Open the page by itself, once it shows the whole log, and a text in a panel."""

        def whole() -> bool:
            browser.get(f"{self.airflow.airflow_url}/pipelines/{NAME}/")
            offsets = [row[3] for row in cells(browser, "lanes")]
            return offsets == list(map(str, ENDS)) and once in text(browser, in_panel)

        wait_for(whole, f"the page shows the whole log, and {once!r}")


def rows_of(airflow: Endpoints, table: str) -> list[dict[str, Any]]:
    folder = Path(airflow.state_dir) / "tables" / NAME / table
    found: list[dict[str, Any]] = DeltaTable(str(folder)).to_pyarrow_table().to_pylist()
    return found


def cells(browser: webdriver.Chrome, panel: str) -> list[list[str]]:
    """The cells of a panel's table."""
    rows = browser.find_elements(By.CSS_SELECTOR, f"#{panel} tbody tr")
    return [[cell.text for cell in row.find_elements(By.TAG_NAME, "td")] for row in rows]


def text(browser: webdriver.Chrome, panel: str) -> str:
    return "".join(one.text for one in browser.find_elements(By.ID, panel))


def until_done(airflow: Endpoints, started: tuple[str, str], task: str) -> None:
    """Wait until a task of a DAG's run has succeeded."""
    dag, dag_run = started
    with AirflowApi(airflow) as api:

        def done() -> bool:
            state = api.tasks(dag, dag_run).get(task)
            assert state not in ("failed", "upstream_failed"), api.log(dag, dag_run, task)
            return state == "success"

        wait_for(done, f"{task} of {dag_run}")


def send(airflow: Endpoints, first: int, end: int) -> None:
    """Append these values of each lane."""
    values = [one for one in LOG if first <= one.offset < end]
    messages = [(one.lane, one.value.encode(), None) for one in values]
    send_all(airflow.kafka_bootstrap, NAME, messages)


@pytest.fixture(scope="module")
def running(airflow: Endpoints, tmp_path_factory: pytest.TempPathFactory) -> Running:
    """The pipeline, deployed and verified by an operator's clicks, while its log went on."""
    create_topics(parse_pipeline(tides.FILE), airflow.kafka_bootstrap)
    send(airflow, 0, tides.SPLIT)
    with AirflowApi(airflow) as api:
        api.unpause(NAME)
    with chromium_of(tmp_path_factory.mktemp("operator")) as browser:
        log_in(browser, airflow, OPERATOR)
        # By itself: all of Airflow's own page beside it is work for two cores.
        browser.get(f"{airflow.airflow_url}/pipelines/{NAME}/")
        deployment = press(browser, "deploy")
        until_done(airflow, deployment, "wait_for_progress")
        send(airflow, tides.SPLIT, len(LOG))
        until_done(airflow, deployment, "publish")
        (run,) = {one["run"] for one in rows_of(airflow, "metrics")}
        found = Running(airflow, run)
        found.open(browser)
        verification = press(browser, "verify", run=run)
        until_done(airflow, verification, "verify")
    return found


def test_every_panel_shows_what_log_tables_and_files_say(
    logged_in: webdriver.Chrome, running: Running
) -> None:
    running.open(logged_in, once=VERDICT, in_panel="outputs")
    rows, metrics, dead = (running.rows(name) for name in (QUERY, "metrics", "dead_letters"))
    assert logged_in.find_element(By.CSS_SELECTOR, "header .light").text == "green"
    (reason,) = logged_in.find_elements(By.CSS_SELECTOR, ".reasons li")
    said = r"its expectations hold \(checked .+ ago\), and it was verified .+ ago"
    assert re.match(said, reason.text), reason.text
    assert not logged_in.find_elements(By.CSS_SELECTOR, "p.yellow, p .red")

    # The run, its batches and its state.
    said = dict(terms(logged_in))
    last, batches = running.lines("metrics.jsonl")[-1], {row["batch_id"] for row in metrics}
    assert len(batches) >= 2
    assert said["Run"] == f"{running.run}: running"
    assert said["Batches"].startswith(f"{len(batches)}, the last 20")
    assert last["state_rows"] is None  # our sessions do not let Spark count them
    size = f"{last['state_bytes']:,} bytes"
    assert said["State"].startswith(f"{size}\nbound: {QUERY}: ")

    # The output: rows, revisions, quality, freshness, proof.
    ((query, light, quality, fresh, proof, *counts, _),) = cells(logged_in, "outputs")
    assert (query, light) == (QUERY, "green")
    late = sum(row["pane"] == "late" for row in rows)
    assert late > 0
    assert counts == [f"{len(rows):,}", f"{late:,}"]
    expected = len(running.lines("quality_history.jsonl"))
    assert quality.startswith(f"{expected} of {expected} expectations hold")
    assert "2026-01-01T02:28:00Z" in fresh
    assert proof.startswith(VERDICT)

    # Lanes and open windows, worked out by hand in `tides`.
    for lane, row in enumerate(cells(logged_in, "lanes")):
        read = sum(one["read"] for one in metrics if one["lane"] == f"{NAME}/{lane}")
        mine = [one for one in dead if one["partition"] == lane]
        too_late = sum(one["reason"] == "out_of_retention" for one in mine)
        assert (too_late, str(len(mine))) == (1, tides.DEAD[lane])
        assert row[:8] == [
            f"{NAME}/{lane}",
            tides.PROGRESS[lane],
            tides.LAGS[lane],
            str(ENDS[lane]),
            "0",
            str(read),
            f"{too_late / read:.2%}",
            tides.DEAD[lane],
        ]
        held = f"holds windows back: {tides.OPEN[4]} releases the oldest"
        assert row[9] == (held if lane == 1 else "")
    assert cells(logged_in, "open") == [tides.OPEN]


def test_dead_letters_quality_verdicts_plan_and_links(
    logged_in: webdriver.Chrome, running: Running
) -> None:
    running.open(logged_in, once=VERDICT, in_panel="outputs")
    # Dead letters by reason, with samples that are on the log at the named offsets.
    dead = running.rows("dead_letters")
    counted = Counter(row["reason"] for row in dead).most_common()
    shown = logged_in.find_elements(By.CSS_SELECTOR, "#dead details")
    assert sorted(one.text.split(":")[0] for one in shown) == sorted(
        f"{count} {reason}" for reason, count in counted
    )
    on_log = {(f"{NAME}/{one.lane}", str(one.offset)): one.value for one in LOG}
    hostile = 0
    for letters in shown:
        letters.find_element(By.TAG_NAME, "summary").click()
        for example in letters.find_elements(By.CSS_SELECTOR, "tbody tr"):
            lane, offset, _, value = (td.text for td in example.find_elements(By.TAG_NAME, "td"))
            (row,) = [
                one
                for one in dead
                if [f"{NAME}/{one['partition']}", str(one["offset"])] == [lane, offset]
            ]
            assert value == ("–" if row["value"] is None else row["value"])
            assert (lane, offset) in on_log
            hostile += tides.HOSTILE in value
    assert hostile == 5
    assert not logged_in.find_elements(By.TAG_NAME, "script")

    # Quality over time, and the verdicts.
    history = running.lines("quality_history.jsonl")
    articles = [one.text for one in logged_in.find_elements(By.CSS_SELECTOR, "#quality article")]
    assert len(articles) == len({(one["query"], one["expectation"]) for one in history})
    assert all(any(one["expectation"] in told for told in articles) for one in history)
    assert len(logged_in.find_elements(By.CSS_SELECTOR, "#quality .mark.green")) == len(history)
    noted = running.lines("verdicts.jsonl")
    verdicts = [(row[1], row[2]) for row in cells(logged_in, "verdicts")]
    assert verdicts == [(one["kind"], one["sentence"]) for one in reversed(noted)]
    assert {kind for kind, _ in verdicts} == {"verify", "quality"}

    # The plan; the history, whose sums are those of the tables; the links.
    plan = logged_in.find_element(By.CSS_SELECTOR, "#plan pre").get_attribute("textContent")
    assert plan == "\n".join(explain(plan_of(parse_pipeline(tides.FILE))))
    charts = logged_in.find_elements(By.CSS_SELECTOR, "#history svg")
    named = [str(one.get_attribute("aria-label")).split(":")[0] for one in charts]
    assert named == ["Records", "Rows", "Late", "Dead letters", "Time of a batch", "State"]
    links = {one.text: one for one in logged_in.find_elements(By.CSS_SELECTOR, "#links a")}
    assert httpx.get(str(links["Spark UI"].get_attribute("href"))).status_code == 200
    assert str(running.tables) in text(logged_in, "links")
    links["Data Docs"].click()
    shows(logged_in, "Data Docs")


def test_a_row_leads_to_its_records_by_offset_in_one_click(
    logged_in: webdriver.Chrome, running: Running
) -> None:
    running.open(logged_in)
    logged_in.find_element(By.LINK_TEXT, "newest windows").click()
    newest: dict[tuple[str, str], dict[str, Any]] = {}
    for row in sorted(running.rows(QUERY), key=lambda one: one["revision"]):
        newest[str(row["window_id"]), row["key"]["harbour"]] = row
    names = [one.text for one in logged_in.find_elements(By.TAG_NAME, "th")]
    shown = [
        dict(zip(names, (td.text for td in row.find_elements(By.TAG_NAME, "td")), strict=True))
        for row in logged_in.find_elements(By.CSS_SELECTOR, "tbody tr")
    ]
    assert {(one["window_id"], one["harbour"]): told(one) for one in shown} == {
        place: [str(row["revision"]), str(row["values"]["n"]), str(row["values"]["highest"])]
        for place, row in newest.items()
    }
    revised = next(one for one in shown if one["revision"] != "0")
    place = shown.index(revised)
    logged_in.find_elements(By.LINK_TEXT, "records")[place].click()
    begin_us = int(revised["window_id"]) * tides.WINDOW_US
    found = [(row[0], row[1], row[3]) for row in cells(logged_in, "records")]
    assert sorted(found) == sorted(
        (f"{NAME}/{one.lane}", str(one.offset), one.value)
        for one in LOG
        if (record := one.record) is not None
        and begin_us <= record["at"] < begin_us + tides.WINDOW_US
        and record["harbour"] == revised["harbour"]
        and record["level"] != tides.FORGOTTEN
    )
    assert len(found) == int(revised["n"])


def test_stop_stops_the_job(browser: webdriver.Chrome, running: Running) -> None:
    log_in(browser, running.airflow, OPERATOR)
    running.open(browser)
    batches = dict(terms(browser))["Batches"]
    stopping = press(browser, "stop")
    until_done(running.airflow, stopping, "stop")
    running.open(browser, once=f"{running.run}: stopped")
    assert browser.find_element(By.CSS_SELECTOR, "header .light").text == "yellow"
    assert "its job is stopped" in browser.find_element(By.CSS_SELECTOR, ".reasons").text
    assert dict(terms(browser))["Batches"] == batches


def terms(browser: webdriver.Chrome) -> Iterator[tuple[str, str]]:
    """What the panel of the run says, by its terms."""
    found = (browser.find_elements(By.CSS_SELECTOR, f"#run {tag}") for tag in ("dt", "dd"))
    yield from ((term.text, said.text) for term, said in zip(*found, strict=True))


def told(row: dict[str, str]) -> list[str]:
    return [row[name] for name in ("revision", "n", "highest")]
