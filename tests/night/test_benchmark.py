"""What is compared in speed computes the same rows: every case, by every path."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.cases import CASES, Case
from benchmarks.runs import OURS, PATHS, Bench, broker, paths_of
from infra.layout import FLINK_VENV

BARE = ("floor", "bare stages")


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with broker(list(CASES)) as bootstrap:
        folder: Path = tmp_path_factory.mktemp("events")
        yield Bench(folder, 2, "1g", batches=2, small_events=5_000, bootstrap=bootstrap)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_all_paths_give_the_same_rows(bench: Bench, case: Case) -> None:
    expected = bench.rows(case, OURS)
    assert len(expected) > 1_000
    others = [path for path in paths_of(case, PATHS, with_rows=True) if path != OURS]
    assert ("flink sql" in others) == (FLINK_VENV.exists() and not case.from_topic)
    for path in others:
        assert bench.rows(case, path).equals(expected), path


@pytest.mark.parametrize("path", [OURS, *BARE])
def test_a_run_is_timed_and_its_memory_watched(bench: Bench, path: str) -> None:
    case = CASES[2]
    run = bench.measured(case, path, 20_000)
    assert run.rows == 20_000 + 8  # and those that end the windows
    assert run.warm_s > 0
    assert 100 << 20 < run.peak_bytes < 4 << 30
