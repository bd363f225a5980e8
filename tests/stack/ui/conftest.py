"""A browser and a running Airflow, for the tests of what people look at: `make test-ui`."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.expected_conditions import presence_of_element_located, url_contains
from selenium.webdriver.support.ui import WebDriverWait

from benchmarks.overview import OldRun
from infra import airflow as services
from infra import stack
from infra.endpoints import Endpoints
from infra.layout import ROOT, Layout
from tests.stack.ui import tides

SCREENSHOTS = Path(os.environ.get("SLACKWATER_SCREENSHOTS", ".slackwater/screenshots"))
"""Where the tests leave what they saw."""

# No sandbox inside containers that run as root; and no word to anybody but the pages under test.
ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1400,1000",
)


PATIENCE_S = 60.0

VIEWER, OPERATOR = "a-viewer", "an-op"
ROLES = {VIEWER: "viewer", OPERATOR: "op"}
"""Users besides the stack's own, which is an admin, with Airflow's roles."""


def log_in(browser: webdriver.Chrome, airflow: Endpoints, user: str) -> None:
    """Log in to the Airflow of this machine's stack."""
    log_in_at(browser, airflow.airflow_url, user, _password(airflow, user))


def log_in_at(browser: webdriver.Chrome, url: str, user: str, password: str) -> None:
    """Log in with the cookie that Airflow's form sets: its first page takes seconds each time."""
    login = {"username": user, "password": password}
    answer = httpx.post(f"{url}/auth/token", json=login, timeout=PATIENCE_S)
    token = answer.raise_for_status().json()["access_token"]
    browser.get(f"{url}/api/v2/version")
    browser.add_cookie({"name": "_token", "value": token, "path": "/"})


def log_in_by_form(browser: webdriver.Chrome, airflow: Endpoints, user: str) -> None:
    """Log in as people do."""
    browser.get(airflow.airflow_url)
    wait = WebDriverWait(browser, PATIENCE_S)
    wait.until(presence_of_element_located((By.NAME, "username"))).send_keys(user)
    browser.find_element(By.NAME, "password").send_keys(_password(airflow, user))
    browser.find_element(By.CSS_SELECTOR, "button[type=submit]").click()
    wait.until_not(url_contains("/login"))


def _password(airflow: Endpoints, user: str) -> str:
    file = services.passwords_file(Layout(airflow.state_dir))
    found: str = json.loads(file.read_text())[user]
    return found


def shows(browser: webdriver.Chrome, text: str) -> None:
    """Wait until the page shows a text."""
    path = f"//*[normalize-space(text())='{text}']"
    WebDriverWait(browser, PATIENCE_S).until(presence_of_element_located((By.XPATH, path)), text)


@contextmanager
def chromium_of(folder: Path) -> Iterator[webdriver.Chrome]:
    """Debian's Chromium, with a profile of its own in a folder."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("needs chromium and chromedriver: install chromium and chromium-driver")
    options = Options()
    options.binary_location = chromium
    for argument in (*ARGUMENTS, f"--user-data-dir={folder / 'profile'}"):
        options.add_argument(argument)
    started = webdriver.Chrome(options=options, service=Service(driver))
    try:
        yield started
    finally:
        started.quit()


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[webdriver.Chrome]:
    """A browser for one test."""
    with chromium_of(tmp_path) as started:
        yield started


@pytest.fixture(scope="session")
def airflow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoints]:
    """The local stack, with folders of its own for state and pipelines, and a user of each role."""
    layout = Layout(tmp_path_factory.mktemp("state"), tmp_path_factory.mktemp("pipelines"))
    for file in (ROOT / "pipelines").glob("*.yml"):
        shutil.copy(file, layout.pipelines)
    old = OldRun(layout.state_dir, lanes=64, batches=400, rows=40_000)
    old.make()
    shutil.move(old.file, layout.pipelines)
    (layout.pipelines / f"{tides.NAME}.yml").write_text(tides.FILE)
    users = "CORE__SIMPLE_AUTH_MANAGER_USERS"
    named = [services.SETTINGS[users], *(f"{user}:{role}" for user, role in ROLES.items())]
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(services.SETTINGS, users, ",".join(named))
        try:
            yield stack.up(layout=layout)
        finally:
            stack.down(layout=layout)


@pytest.fixture
def logged_in(browser: webdriver.Chrome, airflow: Endpoints) -> webdriver.Chrome:
    """A browser whose user, the admin, has logged in."""
    log_in(browser, airflow, airflow.airflow_user)
    return browser


@pytest.fixture
def screenshot(browser: webdriver.Chrome, request: pytest.FixtureRequest) -> Iterator[None]:
    """Keep what the browser shows when the test ends, also when it fails."""
    yield
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    browser.save_screenshot(str(SCREENSHOTS / f"{request.node.name}.png"))
