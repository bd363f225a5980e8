"""`slackwater capacity`: a pipeline and a load in, a size with all its assumptions out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from slackwater.capacity import _bytes, _number
from slackwater.main import app

PIPELINES = Path("tests/data/pipelines")


def capacity(pipeline: Path, *arguments: str) -> Result:
    return CliRunner().invoke(app, ["capacity", str(pipeline), *arguments])


def shown(result: Result, name: str) -> str:
    found = re.search(rf"^{name} +(\S.*?)   ", result.output, re.MULTILINE)
    assert found is not None, result.output
    return found[1]


def test_a_load_that_is_ten_times_as_large_needs_ten_times_the_executors() -> None:
    small, large = (
        capacity(PIPELINES / "tumbling/pipeline.yml", "--rate", rate, "--keys", "1M")
        for rate in ("10M", "100M")
    )
    executors = [int(shown(result, "executors").replace(",", "")) for result in (small, large)]
    assert executors[1] == pytest.approx(10 * executors[0], rel=0.1)
    assert "assuming that" in small.output
    assert "the file has 1" in small.output


def test_what_was_not_measured_is_refused_with_a_sentence() -> None:
    result = capacity(PIPELINES / "join/pipeline.yml", "--rate", "1k", "--keys", "10")
    assert result.exit_code != 0
    assert "is a join or an operator" in str(result.exception)


@pytest.mark.parametrize("text", ["", "many", "-5", "1 M", "1T"])
def test_a_load_that_is_no_number_is_refused(text: str) -> None:
    given = ("--rate", text, "--keys", "10")
    result = capacity(PIPELINES / "tumbling/pipeline.yml", *given)
    assert result.exit_code == 2


def test_a_length_that_is_none_is_refused() -> None:
    given = ("--rate", "1k", "--keys", "10", "--every", "soon")
    result = capacity(PIPELINES / "tumbling/pipeline.yml", *given)
    assert result.exit_code == 2
    assert "soon" in result.output


def test_numbers_are_read_and_shown_as_people_write_them() -> None:
    assert [_number("--rate", text) for text in ("50000", "10k", "1.5M", "2G")] == [
        50_000,
        10_000,
        1_500_000,
        2_000_000_000,
    ]
    assert [_bytes(count) for count in (12, 1_500, 2e6, 4.71e9, 3e15)] == [
        "12 B",
        "1.5 kB",
        "2 MB",
        "4.71 GB",
        "3,000.0 TB",
    ]
