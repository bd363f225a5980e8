"""The picture shows final revisions of one week and marks the windows that were revised."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from deltalake import write_deltalake
from matplotlib import image

from jobs.tools import plot as module
from jobs.tools.plot import PictureSummary, PlotError, plot
from windowing.files.whole_files import WriteError

MONDAY = datetime(2013, 7, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
US = pl.Datetime("us", "UTC")


def row(end: datetime, origin: str, revision: int, delay: float | None) -> dict[str, object]:
    return {
        "run": "r1",
        "query": "hourly",
        "window_id": 0,
        "window_start": end - HOUR,
        "window_end": end,
        "key": {"origin": origin},
        "pane": "late" if revision else "full",
        "revision": revision,
        "records": 1,
        "values": {"flights": 1, "mean_delay": delay, "max_delay": 1},
        "batch_id": 0,
    }


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rows = [
        *(row(MONDAY + at * HOUR, "JFK", 0, float(at)) for at in range(1, 21)),
        row(MONDAY + 3 * HOUR, "JFK", 2, 99.0),  # revisions in any order; 2 is final
        row(MONDAY + 3 * HOUR, "JFK", 1, 50.0),
        row(MONDAY + 2 * HOUR, "EWR", 1, None),  # late records alone: no revision 0
        *(row(MONDAY + timedelta(days=7) + at * HOUR, "JFK", 0, 1.0) for at in range(1, 31)),
    ]
    rows.append(row(MONDAY + timedelta(days=7, hours=1), "JFK", 1, 2.0))
    other = {**row(MONDAY + 4 * HOUR, "LGA", 1, 5.0), "run": "r2"}
    frame = pl.DataFrame([*rows, other], schema_overrides={"window_start": US, "window_end": US})
    write_deltalake(str(tmp_path / "table" / "hourly"), frame.to_arrow())
    return tmp_path / "table"


def test_the_week_with_most_revisions(table: Path, tmp_path: Path) -> None:
    png = tmp_path / "delays.png"
    assert plot(table, "r1", png) == PictureSummary(MONDAY, 21, 2)
    height, width, _ = image.imread(png).shape
    assert width > 1000
    assert height > 500


def test_a_week_of_ones_own(table: Path, tmp_path: Path) -> None:
    begin = MONDAY + timedelta(days=7)
    assert plot(table, "r1", tmp_path / "x.png", start=begin) == PictureSummary(begin, 30, 1)


def test_what_is_drawn_is_the_final_revision(table: Path) -> None:
    windows = module._final(module._read(table / "hourly", "r1"))
    figure = module._figure(windows.filter(pl.col("end") <= MONDAY + timedelta(days=7)), MONDAY)
    ewr, jfk = figure.axes
    lines = {line.get_label(): list(line.get_ydata()) for line in jfk.get_lines()}
    assert lines["final revision"] == [1.0, 2.0, 99.0, *map(float, range(4, 21))]
    assert lines["window revised by late flights"] == [99.0]
    assert jfk.get_title(loc="left") == "JFK   20 windows, 1 revised"
    assert ewr.get_title(loc="left") == "EWR   1 windows, 1 revised"


def test_nothing_to_draw_is_one_sentence(table: Path, tmp_path: Path) -> None:
    with pytest.raises(PlotError, match=r"no output table at .*has the pipeline run\?"):
        plot(tmp_path / "none", "r1", tmp_path / "x.png")
    with pytest.raises(PlotError, match="has no rows of run 'r9'"):
        plot(table, "r9", tmp_path / "x.png")
    with pytest.raises(PlotError, match="has no window between 2013-08-01 and"):
        plot(table, "r1", tmp_path / "x.png", start=datetime(2013, 8, 1, tzinfo=UTC))
    with pytest.raises(WriteError, match="cannot be written: No such file"):
        plot(table, "r1", tmp_path / "none" / "x.png")
    assert list(tmp_path.glob("*.png")) == []
