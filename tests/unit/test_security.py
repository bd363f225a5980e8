"""SECURITY.md names a test for each threat, and they are there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROW = re.compile(
    r"^\| (?P<threat>[^|]+) \| (?P<against>[^|]+) \| `(?P<file>[^:`]+)::(?P<name>\w+)` \|$"
)


def rows() -> list[str]:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8").partition("## Threats")[2]
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [line for line in lines[2:] if not line.startswith("| **")]


def test_every_threat_names_a_test_that_is_there() -> None:
    found = [ROW.match(line) for line in rows()]
    assert len(found) > 20
    for line, match in zip(rows(), found, strict=True):
        assert match is not None, line
        file = ROOT / match["file"]
        assert file.is_file(), line
        assert f"def {match['name']}(" in file.read_text(encoding="utf-8"), line


def test_no_threat_stands_twice() -> None:
    names = [line.rsplit("|", 2)[1] for line in rows()]
    assert len({*names}) == len(names)
