"""The Data Docs as files on a disk, in a browser that reaches no other host: all is there."""

from __future__ import annotations

from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By

from chaos.quality.run import check
from tests.stack.ui.page import READABLE, color, contrast
from tests.unit.chaos.quality.test_expectations import LOG, OUTCOME, P
from tests.unit.chaos.verdict.test_verify import write_tables

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def cells(browser: webdriver.Chrome) -> list[list[str]]:
    """What the rows of all tables show."""
    rows = browser.find_elements(By.CSS_SELECTOR, "table tr")
    return [[c.text for c in row.find_elements(By.CSS_SELECTOR, "td")] for row in rows]


@pytest.mark.usefixtures("screenshot")
def test_first_page_and_results_are_filled_and_styled(
    browser: webdriver.Chrome, tmp_path: Path
) -> None:
    write_tables(tmp_path / "tables", P, OUTCOME)
    report = check(P, tmp_path / "tables", "r1", iter(LOG), tmp_path / "docs")
    browser.get(report.docs_index.as_uri())
    shown = [row for row in cells(browser) if row]
    assert len(shown) >= len(P.flows)
    for query in P.flows:
        assert any(query.name in " ".join(row) for row in shown)
    browser.find_element(By.CSS_SELECTOR, "table td a").click()
    assert browser.current_url.startswith("file:")
    assert any("✓" in " ".join(row) or "✗" in " ".join(row) for row in cells(browser))
    table = browser.find_element(By.TAG_NAME, "table")
    assert table.value_of_css_property("border-collapse") == "collapse"
    asked = "return performance.getEntriesByType('resource').map(one => one.name)"
    assert browser.execute_script(asked) == []


@pytest.mark.usefixtures("screenshot")
def test_marks_can_be_told_from_the_page_in_the_light_and_in_the_dark(
    browser: webdriver.Chrome, tmp_path: Path
) -> None:
    write_tables(tmp_path / "tables", P, OUTCOME)
    report = check(P, tmp_path / "tables", "r1", iter(LOG), tmp_path / "docs")
    browser.get(report.docs_index.as_uri())
    contrasts = {}
    for scheme in ("light", "dark"):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        # The page's own background is the browser's, which `Canvas` names.
        browser.execute_script("document.body.style.backgroundColor = 'Canvas'")
        page = color(browser.find_element(By.TAG_NAME, "body"), "background-color")
        for what in (".passed, .failed", "body"):
            mark = color(browser.find_element(By.CSS_SELECTOR, what), "color")
            contrasts[scheme, what] = contrast(mark, page)
    assert min(contrasts.values()) >= READABLE, contrasts
