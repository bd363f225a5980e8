"""The overview of a real run: every figure compared with tables, broker and checkpoint."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from deltalake import DeltaTable

from infra import stack
from jobs.overview.schema import Overview
from jobs.runs.folder import find_named
from tests.night.spark.test_change import file, send, slackwater, through

__all__ = ["file"]


def seen(file: Path) -> dict[str, Any]:
    lines = slackwater("overview", file, "--json").splitlines()
    (line,) = [line for line in lines if line.startswith("{")]
    told: dict[str, Any] = json.loads(line)
    Overview.model_validate(told)
    return told


def settled(file: Path) -> dict[str, Any]:
    """Return what is seen once Spark has told how long each batch took: later than its rows."""
    deadline = time.monotonic() + 60
    while any(one["batches"] and one["batch_ms"] is None for one in seen(file)["history"]):
        assert time.monotonic() < deadline
        time.sleep(0.2)
    return seen(file)


def rows(folder: Path, table: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = DeltaTable(str(folder / table)).to_pyarrow_table().to_pylist()
    return found


def compare(found: dict[str, Any], folder: Path) -> None:
    """Compare an answer with the rows of the run's tables, one by one."""
    own, metrics, dead = (rows(folder, name) for name in ("a", "metrics", "dead_letters"))
    (output,) = found["outputs"]
    late = sum(row["pane"] == "late" for row in own)
    assert (output["rows"], output["revisions"]) == (len(own), late)
    assert sum(one["rows"] for one in found["history"]) == len(own)
    assert sum(one["dead"] for one in found["history"]) == len(dead)
    assert {one["reason"]: one["count"] for one in found["dead_letters"]} == Counter(
        row["reason"] for row in dead
    )
    for lane in found["lanes"]:
        mine = [row for row in metrics if row["lane"] == lane["lane"]]
        assert lane["records"] == sum(row["read"] for row in mine)
        assert lane["late"] is not None
    assert sum(one["batches"] for one in found["history"]) == len(
        {row["batch_id"] for row in metrics}
    )


def compare_records(file: Path) -> None:
    """Compare a window's records by its rows with those of the definition."""
    place = (file, "--window", "1970-01-01T00:00:00.000100Z", "--key", "1", "--json")
    whole, quick = (
        json.loads(slackwater("why", *place, *words).splitlines()[-1])
        for words in ((), ("--records",))
    )
    names = ("lane", "offset", "at", "revision")
    shown = [[{name: one[name] for name in names} for one in w["records"]] for w in (whole, quick)]
    assert sorted(shown[0], key=str) == sorted(shown[1], key=str)
    assert quick["complete"]
    assert shown[1]


def test_a_runs_figures_are_true_at_every_turn(file: Path) -> None:
    assert seen(file)["light"]["colour"] == "grey"
    slackwater("topics", file)
    send(0, 300)
    slackwater("submit", file, "--run", "r1")
    through(file, "r1")
    found = seen(file)
    run = find_named(stack.endpoints(only=["kafka", "spark"]), "p", "r1")
    compare(found, run.table)
    assert found["light"]["colour"] == "yellow"
    assert {"its expectations have never been checked", "it has never been verified"} <= set(
        found["light"]["reasons"]
    )
    assert [lane["behind"] for lane in found["lanes"]] == [0, 0]
    assert sum(lane["end"] for lane in found["lanes"]) == 300
    assert found["batches"]["count"] == found["state"]["batches"] > 0
    (waiting,) = found["open_windows"]
    lane = min(found["lanes"], key=lambda lane: lane["progress"])
    assert (waiting["held_back_by"], lane["holds_back"]) == (lane["lane"], True)
    told = slackwater("why", file, "--window", waiting["oldest"].split(" ")[0], "--key", "1")
    assert waiting["release"].removesuffix(f" on {lane['lane']}") in told

    compare_records(file)
    assert "differing 0" in slackwater("verify", file)
    command = Path(sys.executable).with_name("slackwater")  # what it imports, warns
    subprocess.run([command, "quality", file], check=True, capture_output=True)
    found = seen(file)
    assert found["light"]["colour"] == "green", found["light"]
    assert [one["kind"] for one in found["verdicts"]] == ["quality", "verify"]
    names = {one["expectation"] for one in found["quality"]}
    assert "expect_dead_records_to_be_few" in names
    assert {link["name"] for link in found["links"]} >= {"tables", "Data Docs", "Spark UI"}
    assert all(Path(link["href"]).exists() for link in found["links"] if link["href"][0] == "/")

    send(300, 600)
    through(file, "r1")
    again = settled(file)
    compare(again, run.table)
    assert again["outputs"][0]["rows"] > found["outputs"][0]["rows"]
    known = run.folder / "overview_cache.json"
    known.unlink()
    anew = seen(file)
    for one in (anew, again):
        del one["outputs"][0]["light"]  # it says how long ago something was
    for name in ("outputs", "lanes", "history", "dead_letters"):
        assert anew[name] == again[name]

    slackwater("stop", file)
    stopped = seen(file)
    assert (stopped["light"]["colour"], stopped["state"]["state"]) == ("yellow", "stopped")
    compare(stopped, run.table)
