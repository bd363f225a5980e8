"""The Prometheus endpoint: names, values, where it is found, and that no job fails for it."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from infra.errors import SettingsError
from infra.monitoring_settings import parse_address
from jobs.metrics.lines import LINES_FILE, read_lines
from jobs.metrics.observer import Metrics, Place, observed
from jobs.runs.targets import ADDRESS_FILE, address_of
from tests.unit.jobs.metrics.figures import pipeline, progress, written
from windowing.spark.sinks.written import Portion

RUN = {"pipeline": "tide", "run": "r1"}


class Query:
    """A query as metrics see it; the real one is in `tests/spark/test_metrics.py`."""

    def __init__(self) -> None:
        self.recentProgress: list[dict[str, Any]] = []
        self.status = {"isTriggerActive": False}

    @property
    def lastProgress(self) -> dict[str, Any] | None:  # noqa: N802 - Spark's name
        return self.recentProgress[-1] if self.recentProgress else None


def place(folder: Path, address: tuple[str, int] | None = ("127.0.0.1", 0)) -> Place:
    return Place("tide", "r1", folder, pipeline().source, address, folder / "targets")


def scraped(folder: Path) -> tuple[str, dict[tuple[str, tuple[tuple[str, str], ...]], float]]:
    url = address_of(folder)
    assert url is not None
    text = httpx.get(url, trust_env=False).raise_for_status().text
    families = text_string_to_metric_families(text)
    return text, {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }


def two_batches(metrics: Metrics, query: Query) -> None:
    """Two batches that both end between two looks, and an idle trigger."""
    letters = Portion("dead_letters", "bad_json", 3, "levels/1", None)
    metrics.written(written(0, {0: (7, 1_000_000), 1: (5, None)}, Portion("w", "full", 4), letters))
    metrics.written(written(1, {0: (3, 4_000_000)}, Portion("w", "late", 2), dropped=2))
    query.recentProgress += [progress(0, {"0": 6, "1": 4}), progress(1, {"0": 9, "1": 4})]
    query.recentProgress += [progress(2, {"0": 9, "1": 4}, ran=False)]
    metrics.look(query)  # type: ignore[arg-type]


def test_what_is_scraped_is_what_was_reported(tmp_path: Path) -> None:
    query = Query()
    with observed(place(tmp_path)) as metrics:
        two_batches(metrics, query)
        metrics.look(query)  # type: ignore[arg-type]
        text, found = scraped(tmp_path)

    def value(name: str, **labels: str) -> float:
        return found[f"slackwater_{name}", tuple(sorted({**RUN, **labels}.items()))]

    assert value("batches_total") == 2
    assert value("last_batch_id") == 1
    assert value("records_total", lane="levels/0") == 10
    assert value("records_total", lane="levels/1") == 5
    assert value("rows_total", query="w", pane="full") == 4
    assert value("revisions_total", query="w") == 2
    assert value("late_records_total", lane="levels/0", query="w") == 2
    assert value("dead_letters_total", lane="levels/1", reason="bad_json") == 3
    assert value("lane_progress_timestamp_seconds", lane="levels/0") == 4
    assert value("lane_lag_records", lane="levels/0") == 3
    assert value("lane_event_time_lag_seconds", lane="levels/0") > 1e9
    assert value("batch_duration_seconds_count") == 2
    assert value("batch_duration_seconds_sum") == pytest.approx(2 * 4.68)
    assert value("batch_stage_seconds_total", stage="addBatch") == pytest.approx(2 * 2.557)
    assert value("state_memory_bytes") == 12_776
    assert "slackwater_state_rows{" not in text, "Spark does not count them"
    assert [line["batch_id"] for line in read_lines(tmp_path)] == [0, 1]
    second = read_lines(tmp_path)[1]["lanes"]["levels/1"]
    assert (second["records"], second["offset"]) == (0, 4)
    assert address_of(tmp_path) is None, "it has ended"
    assert [*(tmp_path / "targets").iterdir()] == []


def test_open_windows_are_those_between_all_lanes_and_the_newest_record(tmp_path: Path) -> None:
    """By hand: windows of 4 us; lane 1 stands at 9 us, so that 8 to 12 is the oldest open one. The
    newest record was at 21 us, in 20 to 24: with 12 to 16 and 16 to 20 four are open."""
    query, at = Query(), place(tmp_path)
    counted = replace(at, windows=pipeline())
    name = ("slackwater_open_windows", tuple(sorted({**RUN, "query": "w"}.items())))
    with observed(counted) as metrics:

        def batch(number: int, lanes: dict[int, tuple[int, int | None]]) -> float | None:
            metrics.written(written(number, lanes))
            query.recentProgress.append(progress(number, {"0": 6, "1": 4}))
            metrics.look(query)  # type: ignore[arg-type]
            return scraped(tmp_path)[1].get(name)

        assert batch(0, {0: (7, 5), 1: (0, None)}) is None, "one lane has no progress yet"
        assert batch(1, {0: (7, 21), 1: (3, 9)}) == 4
        assert batch(2, {0: (0, 21), 1: (3, 21)}) == 1
    counts = [line["open_windows"] for line in read_lines(tmp_path)]
    assert counts == [{"w": None}, {"w": 4}, {"w": 1}]


def test_promtool_finds_no_fault_with_names_and_help(tmp_path: Path) -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed (Debian: apt-get install prometheus)")
    with observed(place(tmp_path)) as metrics:
        two_batches(metrics, Query())
        text, _ = scraped(tmp_path)
    checked = subprocess.run(
        [promtool, "check", "metrics"], input=text, text=True, capture_output=True, check=False
    )
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")


def test_a_run_that_fails_is_missed_at_its_address(tmp_path: Path) -> None:
    with pytest.raises(KeyError), observed(place(tmp_path)):
        raise KeyError
    [file] = (tmp_path / "targets").iterdir()
    [target] = json.loads(file.read_text())
    assert target["labels"] == RUN
    assert f"http://{target['targets'][0]}/metrics" == address_of(tmp_path)
    with pytest.raises(httpx.ConnectError):
        scraped(tmp_path)


def test_a_port_that_is_taken_is_replaced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with observed(place(tmp_path, ("127.0.0.1", port))):
            scraped(tmp_path)
            assert address_of(tmp_path) != f"http://127.0.0.1:{port}/metrics"
    assert f"port {port} of 127.0.0.1 cannot be used" in capsys.readouterr().err


def test_without_an_address_there_are_lines_only(tmp_path: Path) -> None:
    with observed(place(tmp_path, None)) as metrics:
        two_batches(metrics, Query())
        assert not (tmp_path / ADDRESS_FILE).exists()
    assert len(read_lines(tmp_path)) == 2


def test_what_cannot_be_written_is_said_once_and_fails_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / LINES_FILE).mkdir()
    query = Query()
    with observed(place(tmp_path)) as metrics:
        two_batches(metrics, query)
        query.recentProgress.append(progress(2, {"0": 9, "1": 4}))
        metrics.look(query)  # type: ignore[arg-type]
        _, found = scraped(tmp_path)
    said = capsys.readouterr().err
    assert said.count("figures of batches are missing: IsADirectoryError") == 1
    assert found  # the endpoint continues


@pytest.mark.parametrize("text", ["9095", "host", "host:", ":9095", "host:99999", "host:x", ""])
def test_a_wrong_address_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="is no address"):
        parse_address(text)


def test_addresses() -> None:
    assert parse_address("worker-1:9095") == ("worker-1", 9095)
    assert parse_address("[::1]:0") == ("::1", 0)
    assert parse_address("off") is None
