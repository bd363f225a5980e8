"""JUnit XML, which servers of continuous integration read: suites of cases, each with an outcome.

There is no standard; this is what Ant writes, with the file and the line that pytest adds.
"""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

Bad = Literal["failure", "error", "skipped"]

_ILLEGAL: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class Case:
    """One case of a suite.

    Attributes:
        group: what the case belongs to, such as a pipeline.
        bad: the outcome; None: it has passed.
        message: what is wrong, in a line.
        text: all that there is to say.
        file, line: where it is written.
        seconds: how long it took.
    """

    group: str
    name: str
    bad: Bad | None = None
    message: str = ""
    text: str = ""
    file: str | None = None
    line: int | None = None
    seconds: float | None = None


def suite(name: str, cases: Iterable[Case], began: str | None = None) -> ET.Element:
    """Return a suite.

    Args:
        began: when it was begun, in ISO 8601.
    """
    cases = [*cases]
    outcomes = [case.bad for case in cases]
    numbers = {
        "tests": len(outcomes),
        "failures": outcomes.count("failure"),
        "errors": outcomes.count("error"),
        "skipped": outcomes.count("skipped"),
    }
    attributes: dict[str, object] = {"name": name, **numbers}
    timed = [case.seconds for case in cases if case.seconds is not None]
    if timed:
        attributes["time"] = f"{sum(timed):.3f}"
    if began is not None:
        attributes["timestamp"] = began
    found = ET.Element("testsuite", _legal(attributes))
    for case in cases:
        _add(found, case)
    return found


def _add(to: ET.Element, case: Case) -> None:
    attributes = {
        "classname": case.group,
        "name": case.name,
        "file": case.file,
        "line": case.line,
        "time": None if case.seconds is None else f"{case.seconds:.3f}",
    }
    element = ET.SubElement(to, "testcase", _legal(attributes))
    if case.bad is not None:
        ET.SubElement(element, case.bad, _legal({"message": case.message})).text = _clean(case.text)
    elif case.text:
        ET.SubElement(element, "system-out").text = _clean(case.text)


def document(root: ET.Element) -> bytes:
    """Return a suite, or several in one element, as a file."""
    written = io.BytesIO()
    ET.ElementTree(root).write(written, encoding="utf-8", xml_declaration=True)
    return written.getvalue()


def suites(parts: Iterable[ET.Element]) -> ET.Element:
    """Return an element with several suites."""
    root = ET.Element("testsuites")
    root.extend(parts)
    return root


def _legal(attributes: Mapping[str, object]) -> dict[str, str]:
    given = {name: value for name, value in attributes.items() if value is not None}
    return {name: _clean(str(value)) for name, value in given.items()}


def _clean(text: str) -> str:
    """Escape the characters that no XML may hold, not even escaped by XML's own means."""
    return _ILLEGAL.sub(lambda found: f"\\u{ord(found.group()):04x}", text)
