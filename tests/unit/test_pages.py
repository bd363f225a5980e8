"""Pages say what is so: commands, policy windows, other systems' spellings, and threats."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest
import yaml

from windowing.engine.reading.pack import RawRows
from windowing.model import Pipeline, parse_pipeline
from windowing.model.reading import FORMATS
from windowing.model.rows import row_order
from windowing.runtime.local import Output, run

_GENERATE = "typer slackwater.main utils docs --name slackwater --title Commands"


def test_the_page_of_commands_is_what_make_docs_writes() -> None:
    written = subprocess.run(
        [sys.executable, "-m", *_GENERATE.split()], check=True, capture_output=True, text=True
    )
    assert _GENERATE in Path("Makefile").read_text(), "the test and `make docs` differ"
    assert Path("docs/commands.md").read_text() == written.stdout, "run `make docs`"


CASES = {
    "tumbling windows over files": "tumbling 1 min",
    "60 overlapping ones": "sliding 60 / 1 min",
    "from a topic into a table": "Kafka to Delta, sliding 10 / 1 min",
}


def test_the_readme_has_the_figures_of_the_benchmarks() -> None:
    """It said 3.2, 15 and 2.3 while the benchmarks had long been run again."""
    figures = Path("benchmarks/README.md").read_text(encoding="utf-8")
    (row,) = (
        line
        for line in Path("README.md").read_text(encoding="utf-8").splitlines()
        if "](benchmarks/README.md) Slackwater" in line
    )
    said = re.findall(r"[\d.]+(?= times)", row)
    measured = [
        re.search(rf"^\| {case} \| [^|]* \| spark rocksdb \| [^|]* \| ([\d.]+)", figures, re.M)
        for case in CASES.values()
    ]
    assert all(case in row for case in CASES)
    assert said == [f"{float(found[1]):.1f}" for found in measured if found]


def test_the_first_pipeline_names_the_formats_that_there_are() -> None:
    (line,) = re.findall(r"format: \w+ +# the only one: (.*)", FLIGHTS)
    assert line.split(" | ") == list(FORMATS)


FLIGHTS = Path("pipelines/flight_delays.yml").read_text(encoding="utf-8")
POLICY_WINDOWS = Path("docs/policy-windows.md").read_text(encoding="utf-8")
BLOCKS = re.findall(
    r"^```python\n(.*?)^```\n(?:```\n(.*?)^```$)?", POLICY_WINDOWS, re.MULTILINE | re.DOTALL
)


def test_the_code_prints_what_the_page_shows() -> None:
    assert len(BLOCKS) == POLICY_WINDOWS.count("```python") > 0
    program: dict[str, object] = {}
    for code, shown in BLOCKS:
        printed = StringIO()
        with redirect_stdout(printed):
            exec(compile(code, "docs/policy-windows.md", "exec"), program)  # noqa: S102 - our page
        assert printed.getvalue() == shown


def test_the_operator_of_ones_own_has_at_most_20_lines() -> None:
    (operator,) = (
        node
        for code, _ in BLOCKS
        for node in ast.parse(code).body
        if isinstance(node, ast.ClassDef)
    )
    assert operator.end_lineno is not None
    assert operator.end_lineno - operator.lineno < 20


PAGE = (Path(__file__).parents[2] / "docs" / "coming-from.md").read_text(encoding="utf-8")
SNIPPETS = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
FIRST = """
name: p
source:
  topic: s
  partitions: 2
  format: json
  event_time: {field: ts, unit: s}
  fields: {k: string}
  disorder: {slack: 1 minute}
queries:
"""


def pipeline(snippet: str) -> Pipeline:
    if snippet.startswith("join:"):
        return parse_pipeline(f"name: p\n{snippet}")
    indented = "".join(f"  {line}\n" for line in snippet.splitlines())
    return parse_pipeline(FIRST + indented)


def of(pipeline: Pipeline, *lanes: list[int]) -> Output:
    """What comes of records of key `a` at these seconds, lane by lane, all in one batch."""
    return run(pipeline, [batch(*lanes)])


def reversed_lanes(*lanes: list[int]) -> list[dict[int, RawRows]]:
    """The same log, a lane a batch, the last lane first."""
    return [{number: rows} for number, rows in reversed(batch(*lanes).items())]


def batch(*lanes: list[int]) -> dict[int, RawRows]:
    """Lanes of records of key `a` at these seconds, each with its end."""
    return {
        number: RawRows(
            offsets=[*range(len(times) + 1)],
            values=[*(json.dumps({"ts": ts, "k": "a"}).encode() for ts in times), None],
            controls=[*(None for _ in times), b'{"end":true}'],
            append_us=[None] * (len(times) + 1),
        )
        for number, times in enumerate(lanes)
    }


@pytest.mark.parametrize("snippet", SNIPPETS, ids=lambda text: next(iter(yaml.safe_load(text))))
def test_each_spelling_is_valid_and_gives_rows(snippet: str) -> None:
    other = [30, 3600, 90_000] if snippet.startswith("join:") else []
    found = of(pipeline(snippet), [0, 60, 3600, *range(90_000, 90_020), 360_000], other)
    assert found.rows
    assert not found.dead_letters


def snippet_of(name: str) -> str:
    return next(text for text in SNIPPETS if text.startswith(f"{name}:"))


def test_records_exactly_one_gap_apart_are_two_sessions() -> None:
    apart = of(pipeline(snippet_of("session")), [0, 1800], [])
    nearer = of(pipeline(snippet_of("session")), [0, 1799], [])
    assert [row.records for row in apart.rows] == [1, 1]
    assert [row.records for row in nearer.rows] == [2]


def test_behind_its_lane_is_late_where_the_session_is_open_still() -> None:
    """Lane 1 has said nothing, so that no session has closed; lane 0 has passed 600 s by itself."""
    found = of(pipeline(snippet_of("session")), [0, 7200, 600], [0])
    assert [(one.offset, one.reason) for one in found.dead_letters] == [(2, "late")]


def test_how_lanes_interleave_decides_nothing() -> None:
    """What Flink's watermark would make late, or not, by which partition was read first."""
    rules = pipeline(snippet_of("dropping"))
    one = of(rules, [0, 7200], [30, 60])
    other = run(rules, [*reversed_lanes([0, 7200], [30, 60])])
    assert sorted(one.rows, key=str) == sorted(other.rows, key=str)
    assert one.counts == other.counts


def test_which_joins_find_what() -> None:
    """The right record is in the window of the first left one, and is the past of the second."""
    found = {
        str(yaml.safe_load(text)["join"].get("kind", "by distance")): [
            (row.window_start_us // 1_000_000, *row.values.values())
            for row in sorted(of(pipeline(text), [0, 900], [590]).rows, key=row_order)
        ]
        for text in SNIPPETS
        if text.startswith("join:")
    }
    assert found == {
        "asof": [(0, "a", None), (590, "a", 310_000_000)],
        "window": [(0, "a", 590_000_000), (600, "a", None)],
        "by distance": [(590, "a", 310_000_000)],
    }


def test_every_system_is_spelled_in_every_kind() -> None:
    assert len(SNIPPETS) == 20
    for function in ("CUMULATE", "ASOF", "OVER", "HAVING", "gapfill", "TUMBLE"):
        assert function in PAGE
    for system in ("Spark", "Flink", "Kafka Streams", "Beam"):
        assert PAGE.count(system) > 5


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
