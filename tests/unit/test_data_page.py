"""The page about data as it is: each example gives its rows, by engine and definition."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from chaos.readers.envelope import read_line
from chaos.readers.lane_ends import with_ends
from chaos.readers.log import LogRecord
from windowing.engine.reading.batches import batches
from windowing.model import parse_pipeline
from windowing.model.rows import row_lines
from windowing.runtime.local import run
from windowing.semantics import evaluate

PAGE = (Path(__file__).parents[2] / "docs" / "your-data.md").read_text(encoding="utf-8")
EXAMPLES = {
    section.partition("\n")[0]: re.findall(r"^```\w*\n(.*?)^```$", section, re.M | re.S)
    for section in PAGE.split("\n## ")[1:]
}
_LATER = {"Nested JSON", "Changes from Debezium", "Money"}
"""Examples of what is not read yet: take a name out once it is."""


def test_every_section_is_an_example() -> None:
    assert [len(blocks) for blocks in EXAMPLES.values()] == [3] * 6


@pytest.mark.parametrize(
    ("text", "lines", "shown"),
    [
        pytest.param(
            *example,
            id=name,
            marks=pytest.mark.xfail(name in _LATER, reason="not read yet", strict=True),
        )
        for name, example in EXAMPLES.items()
    ],
)
def test_an_example_gives_its_rows(text: str, lines: str, shown: str) -> None:
    pipeline = parse_pipeline(text)
    given = [LogRecord(*read_line(line.encode())) for line in lines.splitlines()]
    log = [*with_ends(pipeline.source, given)]
    assert [*row_lines(evaluate(pipeline, log).rows)] == shown.splitlines()
    output = run(pipeline, batches(log, 2, pipeline))
    assert sorted(row_lines(output.rows)) == sorted(shown.splitlines())
