"""Real Flink SQL windows: audited, clean and with planted defects, and as a box."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import polars as pl
import pytest

from infra.layout import FLINK_VENV
from jobs.live_engines.flink import flink_windows
from tests.unit.chaos.audit.orders import (
    DELAY_MS,
    audited,
    events,
    found_out,
    miscounted,
    report,
    write_log,
)
from tests.unit.research.boxes import one_by_one
from windowing.research.engines.parameters import Domain
from windowing.research.prober.experiments import Refused, Size

PROGRAM = Path(__file__).with_name("flink_orders.py")
WINDOWS = {"hopping": (20, 10), "tumbling": (10, 10)}
"""Range and slide in seconds."""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """What Flink wrote, by the kind of windows."""
    assert FLINK_VENV.exists(), "Flink is not set up: run make setup-flink"
    folder = tmp_path_factory.mktemp("flink")
    files = [folder / f"partition-{number}.json" for number in range(2)]
    for number, file in enumerate(files):
        file.write_text("".join(json.dumps(one) + "\n" for one in events()[number::2]))
    jobs = [
        {"range_ms": range_s * 1_000, "slide_ms": slide_s * 1_000, "out": str(folder / name)}
        for name, (range_s, slide_s) in WINDOWS.items()
    ]
    task = {"partitions": [*map(str, files)], "delay_ms": DELAY_MS, "jobs": jobs}
    python = str(FLINK_VENV / "bin" / "python")
    command = [python, str(PROGRAM), json.dumps(task)]
    subprocess.run(command, check=True, env={"FLINK_PYTHON": python, "PATH": "/usr/bin:/bin"})
    return {name: folder / name for name in WINDOWS}


@pytest.mark.parametrize("kind", WINDOWS)
def test_flink_is_judged_by_what_its_schedule_leaves_open(
    kind: str, written: dict[str, Path], tmp_path: Path
) -> None:
    range_s, slide_s = WINDOWS[kind]
    write_log(tmp_path, range_s=range_s, slide_s=slide_s)
    told = report("flink", tmp_path, written[kind])
    assert told["verdicts"]["explained"] > 5
    assert told["verdicts"]["equal"] > 50
    assert 0 < told["undetermined"] < 0.9

    undecided = {(one["start"], *one["key"]) for one in told["told"]}
    parts = [part for part in written[kind].iterdir() if not part.name.startswith(".")]
    rows = pl.concat(map(pl.read_ndjson, parts)).sort("window_start", "key")
    names = rows.select(pl.col("window_start") + "Z", "key").rows()
    place = [place for place, name in enumerate(names) if name not in undecided][5]
    for why, bad in miscounted(rows, place):
        found_out("flink", tmp_path, bad, why)
    # A window sent early holds the first of its records; the others came too late for it.
    early = rows.with_row_index().filter(pl.col("index") == place)
    values = sent_early(*names[place], range_s)
    changed = early.with_columns(**values).drop("index").cast(dict(rows.schema))
    others = rows.with_row_index().filter(pl.col("index") != place).drop("index")
    found_out("flink", tmp_path, pl.concat([others, changed]), "lost")


def sent_early(start: str, key: str, range_s: int) -> dict[str, pl.Expr]:
    """The aggregates of a window over the first half of its records."""
    start_ms = pl.Series([start.rstrip("Z")]).str.to_datetime(time_unit="ms").dt.epoch("ms")[0]
    inside = [
        int(one["amount"])
        for one in events()
        if one["key"] == key and start_ms <= int(one["ts"]) < start_ms + range_s * 1_000
    ]
    kept = inside[: len(inside) // 2]
    values = {"n": len(kept), "total": sum(kept), "largest": max(kept)}
    return {name: pl.lit(value) for name, value in values.items()}


def test_a_log_without_the_late_records_is_determined(
    written: dict[str, Path], tmp_path: Path
) -> None:
    """The share says what the log leaves open, not what Flink made of it."""
    write_log(tmp_path, range_s=20, slide_s=10)
    log = (tmp_path / "events.jsonl").read_text().splitlines(keepends=True)
    newest, kept = [-1, -1], []
    for line in log:
        record = json.loads(line)
        partition, ts = record["partition"], record["value"]["ts"]
        if ts > newest[partition]:
            newest[partition] = ts
            kept.append(line)
    (tmp_path / "events.jsonl").write_text("".join(kept))
    code, said = audited("flink", tmp_path, written["hopping"])
    assert code == 1, "records that Flink has read are not in this log"
    assert "0.0% of the windows are not determined" in said


@pytest.mark.parametrize("windows", ["tvf", "group"])
def test_windows_are_sent_by_the_tuple_that_closes_them(windows: str) -> None:
    asked, streams = Size(4, 2, 1), (one_by_one(1, 2, 4, 4, 9), one_by_one(7))
    with flink_windows(windows) as box:
        answers = box.run_all(Domain.time, [(asked, stream) for stream in streams])
        # What Flink sends at the end of the input is no answer to a tuple.
        assert answers == [[[], [[1]], [[1, 2]], [], [[2, 3, 4], [3, 4]]], [[]]]
        gaps = (Domain.time, Size(2, 3, 1), one_by_one(1, 2, 3, 5, 9))
        if windows == "tvf":
            with pytest.raises(Refused, match="integral multiple"):
                box.run(*gaps)
        else:
            # [0, 2), [3, 5), [6, 8): 2 and 5 are in none.
            assert box.run(*gaps) == [[], [[1]], [], [[3]], []]
        with pytest.raises(Refused, match="no windows of tuples"):
            box.run(Domain.tuple, asked, streams[0])
