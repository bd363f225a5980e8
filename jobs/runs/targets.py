"""Where the endpoint of a run's driver is: for people in the run's folder, and for Prometheus.

Prometheus discovers targets by files. Each run has its own one, so that no two drivers ever
write the same. It stays when a driver dies: Prometheus then finds nobody there, and says so. It is
removed when a job ends by itself, is stopped or superseded.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from infra.endpoints import Endpoints
from jobs.runs.folder import write_whole

ADDRESS_FILE: Final = "metrics.json"
"""Name of the file in a run's folder with the address."""


def targets_folder(endpoints: Endpoints) -> Path:
    """Return the folder of the targets' files, one per run that should be alive."""
    return endpoints.state_dir / "prometheus" / "targets"


def announce(folder: Path, targets: Path | None, address: str, pipeline: str, run: str) -> None:
    """Write the address of a run's endpoint.

    Args:
        targets: the folder for Prometheus; None: there is none.
        address: `host:port`.

    Raises:
        OSError: it cannot be written.
    """
    write_whole(folder / ADDRESS_FILE, {"url": f"http://{address}/metrics"})
    if targets is not None:
        targets.mkdir(parents=True, exist_ok=True)
        labels = {"pipeline": pipeline, "run": run}
        write_whole(_file(targets, pipeline, run), [{"targets": [address], "labels": labels}])


def withdraw(folder: Path, targets: Path | None, pipeline: str, run: str) -> None:
    """Remove a run's address: it is not to be alive."""
    (folder / ADDRESS_FILE).unlink(missing_ok=True)
    if targets is not None:
        _file(targets, pipeline, run).unlink(missing_ok=True)


def withdraw_of(
    endpoints: Endpoints, pipeline: str, *, keep: str | None = None, only: str | None = None
) -> None:
    """Remove the addresses of a pipeline's runs that are stopped, also of those that died.

    Args:
        keep: a run whose address stays.
        only: the run whose address goes; None: all.
    """
    targets = targets_folder(endpoints)
    for file in [*targets.glob(f"{pipeline}@*.json")]:
        run = file.name.removeprefix(f"{pipeline}@").removesuffix(".json")
        if run != keep and only in (None, run):
            withdraw(endpoints.state_dir / "runs" / pipeline / run, targets, pipeline, run)


def address_of(folder: Path) -> str | None:
    """Return the URL of the metrics of a run's driver, which may have died; None: there is none."""
    try:
        return str(json.loads((folder / ADDRESS_FILE).read_text(encoding="utf-8"))["url"])
    except FileNotFoundError:
        return None


def _file(targets: Path, pipeline: str, run: str) -> Path:
    # Names contain no "@", so two pairs never share a file.
    return targets / f"{pipeline}@{run}.json"
