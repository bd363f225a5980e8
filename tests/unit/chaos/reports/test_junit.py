"""JUnit XML that a parser reads, whatever the names and texts."""

import xml.etree.ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from chaos.reports.junit import Case, document, suite, suites


@given(st.text(max_size=9), st.text(max_size=9))
def test_any_text_is_legal(name: str, text: str) -> None:
    cases = [Case("p", name, "failure", text, text), Case("p", name, None, "", text)]
    root = ET.fromstring(document(suites([suite(name, cases)])))  # noqa: S314 - our own
    failed, passed = root[0]
    if name.isprintable() and text.isprintable():
        assert (root[0].get("name"), failed.get("name")) == (name, name)
        assert (failed[0].get("message"), failed[0].text or "") == (text, text)
        assert [one.text for one in passed] == ([text] if text else [])


def test_numbers_add_up() -> None:
    bad = ("failure", "error", "error", "skipped", None)
    found = suite("s", [Case("p", "n", one, seconds=0.25) for one in bad], "2026-01-01")  # type: ignore[arg-type]
    names = ("tests", "failures", "errors", "skipped", "time", "timestamp")
    assert [found.get(name) for name in names] == ["5", "1", "2", "1", "1.250", "2026-01-01"]
