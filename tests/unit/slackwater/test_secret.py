"""The commands of `slackwater secret`."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from slackwater.main import app


def run(*arguments: str) -> tuple[int, list[str]]:
    result = CliRunner().invoke(app, ["secret", *arguments])
    return result.exit_code, result.stdout.splitlines()


def test_engines_are_listed_with_their_parameters() -> None:
    code, lines = run("engines")
    assert code == 0
    assert "storm: Storm" in lines
    assert "  time windows: start b - w; time-driven; report non-empty and window close" in lines


def test_reports_are_printed_with_their_cause() -> None:
    code, lines = run("simulate", "flink", "--size", "3", "--times", "10,11,12,13,17")
    assert code == 0
    assert lines == [
        "Flink: windows above -1, 2 reports",
        "  (8, 11] {t1,t2} at arrival 3",
        "  (11, 14] {t3,t4} at arrival 5",
    ]


def test_a_file_is_read_and_a_picture_drawn(tmp_path: Path) -> None:
    file, picture = tmp_path / "in.csv", tmp_path / "out.png"
    file.write_text("1,1,1,1\n2,2,2,1\n3,3,3,2\n")
    options = ("--size", "2", "--tuples", "--input", str(file), "--picture", str(picture))
    code, lines = run("simulate", "storm", *options)
    assert code == 0
    assert lines[1] == "  (0, 2] {t1,t2} at arrival 3"
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_difference_is_explained_and_fails() -> None:
    options = ("--size", "4", "--slide", "2", "--times", "1,2,4,4,7,12")
    code, lines = run("compare", "flink", "storm", *options)
    assert code == 1
    assert lines[-2:] == ["explained by", "  start of windows: -3 | -2"]


def test_equal_engines_pass() -> None:
    code, lines = run("compare", "flink", "dataflow", "--size", "4", "--times", "1,2,9")
    assert (code, lines[-1]) == (0, "equal on this input")


def test_a_proposal_is_yaml() -> None:
    code, lines = run("like", "flink-real", "pipelines/flight_delays.yml")
    assert code == 0
    assert lines[:3] == [
        "# windows as in Flink, the product",
        "hourly:",
        "  # window: as it is",
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        ("simulate", "flink", "--size", "3"),
        ("simulate", "flink", "--size", "3", "--times", "1", "--input", "x.csv"),
        ("simulate", "flink", "--size", "0", "--times", "1"),
        ("like", "flink", "pipelines/flight_delays.yml", "--first", "soon"),
    ],
)
def test_a_wrong_command_line_is_refused(arguments: tuple[str, ...]) -> None:
    assert run(*arguments)[0] == 2
