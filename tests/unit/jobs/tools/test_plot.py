"""The picture shows an aggregate's final revisions by key, and marks the windows that changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from matplotlib import image
from typer.testing import CliRunner

from jobs.tools import plot as module
from jobs.tools.plot import PictureSummary, PlotError, plot
from slackwater.main import app
from windowing.files.whole_files import WriteError
from windowing.model import parse_pipeline

HOUR = 3_600_000_000
MONDAY = 1_372_636_800_000_000  # 2013-07-01T00:00Z
TEXT = """
name: shop
source:
  topic: s
  partitions: 1
  format: json
  event_time: {field: ts, unit: us}
  fields: {k: string, at: int, v: float, n: int}
  disorder: ordered
late: {policy: update, every: 1 hour}
retention: 1 day
queries:
  hourly: {window: RANGE 1 hour SLIDE 1 hour WATTR ts, group_by: [k],
    aggregates: {orders: count, mean_v: mean(v), worst: max(v), all: collect(n)}}
  by_rows: {window: RANGE 10 rows SLIDE 10 rows WATTR row_num, aggregates: {n: count}, late: {}}
  parts: {window: RANGE 1 hour SLIDE 1 hour WATTR ts, aggregates: {n: count},
    accumulation: discarding}
"""
P = parse_pipeline(TEXT)
HOURLY, BY_ROWS, PARTS = P.flows


def row(at: int, key: str, revision: int, value: Any, **other: Any) -> dict[str, Any]:
    end = MONDAY + at * HOUR
    return {
        "query": "hourly",
        "window_id": at,
        "window_start": end - HOUR,
        "window_end": end,
        "key": [key],
        "pane": "late" if revision else "full",
        "revision": revision,
        "records": 1,
        "values": {"orders": 1, "mean_v": value, "worst": value, "all": [1]},
        **other,
    }


ROWS = [
    *(row(at, "a", 0, float(at)) for at in range(1, 21)),
    row(3, "a", 2, 99.0),  # revisions in any order; 2 is final
    row(3, "a", 1, 50.0),
    row(30, "a", 0, "Infinity"),
    row(2, "b", 1, None),  # late records alone: no revision 0
    row(5, "b", 0, 1.0),
    row(5, "b", 0, 1.0, op="retract"),
    row(6, "b", 0, 1.0, absorbed_by=7),
    row(7, "b", 0, 1.0, pane="early"),
    row(8, "b", 0, 1.0, query="parts"),
]


def test_each_window_is_drawn_once_as_it_is_now(tmp_path: Path) -> None:
    png = tmp_path / "shop.png"
    assert plot(P, HOURLY, ROWS, png, None) == PictureSummary(
        "mean_v", "2013-07-01T01:00:00Z", "2013-07-02T06:00:00Z", 22, 2, 0
    )
    height, width, _ = image.imread(png).shape
    assert width > 1000
    assert height > 500
    shown = module._frame(module.final_windows(HOURLY, ROWS), "mean_v")
    figure = module._figure(shown, "shop", "mean_v", timed=True)
    a, b = figure.axes
    final, late = (list(line.get_ydata()) for line in a.get_lines()[1:])
    assert final[:20] == [1.0, 2.0, 99.0, *map(float, range(4, 21))]
    assert late == [99.0]
    assert a.get_title(loc="left") == "a   21 windows, 1 revised"
    assert b.get_title(loc="left") == "b   1 windows, 1 revised"
    assert a.get_xlabel() == ""
    assert b.get_xlabel() == "end of the window (UTC)"


def test_of_a_long_time_the_week_with_most_revisions_is_drawn(tmp_path: Path) -> None:
    rows = [row(at, "a", 0, 1.0) for at in range(1, 168 * 10 + 1)]
    rows += [row(168 * 2 + at, "a", 1, 2.0) for at in (1, 2, 168)]
    found = plot(P, HOURLY, rows, tmp_path / "x.svg", "worst")
    assert (found.windows, found.revised, found.left_out) == (168, 3, 9 * 168)
    assert (found.start, found.end) == ("2013-07-15T01:00:00Z", "2013-07-22T00:00:00Z")


def test_of_many_keys_those_with_most_records_are_drawn(tmp_path: Path) -> None:
    rows = [row(1, f"k{number}", 0, 1.0, records=number) for number in range(20)]
    found = plot(P, HOURLY, rows, tmp_path / "x.png", "orders")
    assert (found.windows, found.left_out) == (12, 8)


def test_windows_of_rows_have_an_axis_of_rows(tmp_path: Path) -> None:
    rows = [
        row(0, "", 0, 0, query="by_rows", window_id=at, window_end=at * 10 + 10)
        | {"values": {"n": 10}, "key": []}
        for at in range(2_000)
    ]
    found = plot(P, BY_ROWS, rows, tmp_path / "x.png", None)
    assert (found.value, found.end, found.windows) == ("n", "20000", 1_500)


@pytest.mark.parametrize(
    ("query", "rows", "value", "said"),
    [
        (HOURLY, [], None, "hourly has no window yet to draw"),
        (HOURLY, ROWS, "all", "--value all: what has numbers in query hourly: orders, mean_v"),
        (HOURLY, ROWS, "none", "--value none: what has numbers"),
        (PARTS, ROWS, None, "accumulation: discarding"),
    ],
)
def test_what_cannot_be_drawn_is_one_sentence(
    query: Any, rows: list[Any], value: str | None, said: str, tmp_path: Path
) -> None:
    with pytest.raises(PlotError, match=said):
        plot(P, query, rows, tmp_path / "x.png", value)
    with pytest.raises(WriteError, match="cannot be written: No such file"):
        plot(P, HOURLY, ROWS, tmp_path / "none" / "x.png", None)
    assert not list(tmp_path.iterdir())


def test_the_command_draws_what_run_wrote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.yml").write_text(TEXT)
    values = [{"ts": MONDAY + at * HOUR, "k": "a", "at": 1, "v": 2.5, "n": 1} for at in range(9)]
    Path("e.jsonl").write_text(
        "".join(
            json.dumps({"source": "s", "partition": 0, "offset": at, "value": value}) + "\n"
            for at, value in enumerate(values)
        )
    )
    for line in ("run p.yml --input e.jsonl", "plot p.yml --png x.png"):
        done = CliRunner().invoke(app, [*line.split(), "--output", "o.jsonl"])
        assert done.exit_code == 0, done.output
    assert "x.png: mean_v of hourly, 8 windows that end from 2013-07-01T01:00:00Z to" in done.output
    assert Path("x.png").exists()
