"""The page of a pipeline as a user has it: its tab, its buttons, and colors one can read."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.expected_conditions import (
    frame_to_be_available_and_switch_to_it,
    presence_of_element_located,
)
from selenium.webdriver.support.ui import Select, WebDriverWait

from infra.endpoints import Endpoints
from infra.layout import ROOT
from tests.stack.ui.conftest import PATIENCE_S, shows

DAG = "flight_delays"
EXAMPLES = ROOT / "tests" / "data" / "overview"


def example(name: str = DAG) -> dict[str, Any]:
    """An answer of `slackwater overview`."""
    found: dict[str, Any] = json.loads((EXAMPLES / f"{name}.json").read_text())
    return found


@contextmanager
def said(airflow: Endpoints, *told: dict[str, Any], of_all: bool = False) -> Iterator[None]:
    """For a while the command's last answer is this one, and not to be replaced yet."""
    file = Path(airflow.state_dir) / "page" / ("all,.json" if of_all else f"{DAG}.json")
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(told))
    later = time.time() + 3600
    os.utime(file, (later, later))
    try:
        yield
    finally:
        file.unlink()


def in_airflow(browser: webdriver.Chrome, airflow: Endpoints, pipeline: str = DAG) -> None:
    """Open the tab of a pipeline's DAG, and go into its frame."""
    browser.get(f"{airflow.airflow_url}/dags/{pipeline}/plugin/pipeline")
    frame = frame_to_be_available_and_switch_to_it((By.TAG_NAME, "iframe"))
    WebDriverWait(browser, PATIENCE_S).until(frame)
    shows(browser, "Outputs")


def press(browser: webdriver.Chrome, button: str, **fields: str) -> tuple[str, str]:
    """Fill in the form of a button and press it; return the DAG and its run, as the page says."""
    browser.find_element(By.XPATH, "//summary[text()='Actions']").click()
    path = f"//form[input[@name='action' and @value='{button}']]"
    form = browser.find_element(By.XPATH, path)
    for name, value in fields.items():
        blank = form.find_element(By.NAME, name)
        if blank.tag_name == "select":
            Select(blank).select_by_visible_text(value)
        else:
            blank.send_keys(value)
    for asked in form.find_elements(By.TAG_NAME, "summary"):
        asked.click()
    form.find_element(By.TAG_NAME, "button").click()
    run = presence_of_element_located((By.XPATH, "//p[starts-with(text(), 'DAG ')]/code[2]"))
    WebDriverWait(browser, PATIENCE_S).until(run)
    dag_id, run_id = (code.text for code in browser.find_elements(By.CSS_SELECTOR, "p > code"))
    return dag_id, run_id


READABLE = 4.5
"""The least contrast of text, by WCAG 2, level AA."""


def color(element: WebElement, name: str) -> list[float]:
    """Red, green and blue of an element, from 0 to 255."""
    return [float(part) for part in re.findall(r"[\d.]+", element.value_of_css_property(name))[:3]]


def contrast(one: list[float], other: list[float]) -> float:
    """The contrast of two colors, from 1 to 21, as WCAG 2 defines it."""
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def luminance(parts: list[float]) -> float:
    """The relative luminance of a color, from 0 to 1."""
    linear = [
        p / 255 / 12.92 if p / 255 <= 0.04045 else ((p / 255 + 0.055) / 1.055) ** 2.4 for p in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
