"""Where Prometheus finds drivers: of runs that should be alive, and of no others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from jobs import runs
from jobs.runs.targets import address_of, announce, targets_folder
from tests.unit.jobs.runs.test_runs import submit
from tests.unit.life.machine import BAD, FILE, GOOD
from tests.unit.life.pretended import PretendedCluster


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[PretendedCluster]:
    with PretendedCluster(tmp_path / "state", BAD) as cluster:
        yield cluster


def begun(cluster: PretendedCluster, file: Path, run: str, **options: object) -> runs.Run:
    """A run whose driver has announced itself."""
    found = submit(cluster, file, run, **options)
    announce(found.folder, targets_folder(cluster.endpoints), "127.0.0.1:9", found.pipeline, run)
    return found


def targets(cluster: PretendedCluster) -> list[str]:
    return sorted(path.name for path in targets_folder(cluster.endpoints).iterdir())


def test_a_target_goes_when_its_run_is_stopped_or_superseded(
    cluster: PretendedCluster, tmp_path: Path
) -> None:
    files = {name: tmp_path / f"{name}.yml" for name in ("tide", "tide.2")}
    for name, file in files.items():
        file.write_text(FILE.format(name=name, topic=GOOD))
    begun(cluster, files["tide.2"], "r1")
    first = begun(cluster, files["tide"], "r1")
    assert targets(cluster) == ["tide.2@r1.json", "tide@r1.json"]
    begun(cluster, files["tide"], "r2")
    assert targets(cluster) == ["tide.2@r1.json", "tide@r2.json"]
    assert address_of(first.folder) is None
    shadow = begun(cluster, files["tide"], "r3", beside=True)
    assert targets(cluster) == ["tide.2@r1.json", "tide@r2.json", "tide@r3.json"]
    runs.stop_run(cluster.endpoints, shadow)
    assert targets(cluster) == ["tide.2@r1.json", "tide@r2.json"]
    runs.stop_all(cluster.endpoints, "tide")
    assert targets(cluster) == ["tide.2@r1.json"]
