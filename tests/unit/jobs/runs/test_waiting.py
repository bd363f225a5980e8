"""What is said of a run that waits: who has the room, and what would free it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from infra.errors import NotReady
from infra.spark_room import room
from infra.spark_size import AT_ONCE_VARIABLE, borne, pipelines_at_once, size_for
from jobs.runs.job_order import job_name, pipeline_and_run, run_of_job
from jobs.runs.waiting import said

GIB = 1 << 30


def file_of(ours: tuple[str, str]) -> Path:
    return Path(f"{ours[0]}.yml")


def application(name: str, cores: int) -> dict[str, Any]:
    state = "RUNNING" if cores else "WAITING"
    entry = {"id": f"app-{name}", "name": name, "cores": cores, "state": state}
    return entry | {"memoryperexecutor": 1024}


def page(*applications: dict[str, Any], drivers: dict[str, int]) -> dict[str, Any]:
    """What a master reports; the test on a real one is `tests/stack/test_life.py`."""
    alive = {"state": "ALIVE", "coresfree": 1, "memoryfree": 1024}
    entries = [
        {"id": driver, "state": "RUNNING" if cores else "SUBMITTED", "cores": 1, "memory": 1024}
        for driver, cores in drivers.items()
    ]
    return {
        "activeapps": list(applications),
        "activedrivers": entries,
        "completedapps": [application("slackwater:old:r1", 0) | {"state": "FINISHED"}],
        "workers": [alive, {"state": "DEAD", "coresfree": 3, "memoryfree": 3072}],
    }


def test_the_holder_is_named_with_its_driver_and_what_would_free_it() -> None:
    one, other = job_name("ebb", "r1"), job_name("flow", "r2")
    found = room(page(application(one, 0), application(other, 4), drivers={"d1": 1, "d2": 1}))
    assert said(one, "executors", found, {"d1": one, "d2": other}, file_of) == (
        "no worker has room for its executors (free: 1 cores with 1024 MiB): run r2 of flow has "
        "5 cores; to end one frees them: `slackwater stop flow.yml --run r2`"
    )
    assert found.ended == {"slackwater:old:r1": "app-slackwater:old:r1"}


def test_programs_that_are_no_runs_are_named_too() -> None:
    one = job_name("ebb", "r1")
    found = room(page(application("shell", 6), drivers={"d1": 0}))
    why = said(one, "driver", found, {"d1": one}, file_of)
    assert "'shell', which is not a run of a pipeline, has 6 cores" in why
    assert why.endswith("end the program that has them")


def test_a_cluster_that_is_too_small_says_so() -> None:
    why = said(job_name("ebb", "r1"), "driver", room(page(drivers={})), {}, file_of)
    assert "no job would free any" in why


def test_another_page_is_no_masters() -> None:
    with pytest.raises(NotReady, match="lacks 'activeapps'"):
        room({"status": "ALIVE"})


def test_names_of_jobs_lead_back_to_runs() -> None:
    assert pipeline_and_run(job_name("ebb", "r1")) == ("ebb", "r1")
    assert run_of_job(job_name("ebb", "r1"), "ebb") == "r1"
    assert run_of_job(job_name("ebbs", "r1"), "ebb") is None
    assert run_of_job("", "ebb") is None
    assert pipeline_and_run("slackwater ebb") is None


@pytest.mark.parametrize(
    ("memory_gib", "cores", "pipelines"),
    [(4, 2, 1), (7, 2, 1), (16, 4, 3), (24, 4, 3), (12, 8, 2), (256, 64, 3), (256, 2, 1)],
)
def test_a_machine_bears_so_many_pipelines(memory_gib: int, cores: int, pipelines: int) -> None:
    assert borne(memory_gib * GIB, cores) == pipelines


@pytest.mark.parametrize("pipelines", [1, 2, 3, 7])
def test_so_many_pipelines_fit_wherever_their_drivers_are(pipelines: int) -> None:
    """A driver has 1 core and 1 GiB, an executor 2 cores and 1 GiB: one is on each worker."""
    size = size_for(pipelines)
    for drivers_here in range(pipelines + 1):
        assert size.cores >= drivers_here + 2 * pipelines
        assert size.memory_gib >= drivers_here + pipelines


def test_the_size_can_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(AT_ONCE_VARIABLE, "2")
    assert pipelines_at_once() == 2
    monkeypatch.delenv(AT_ONCE_VARIABLE)
    assert pipelines_at_once() >= 1
    for wrong in ("0", "-1", "many", "", "²", "101"):
        monkeypatch.setenv(AT_ONCE_VARIABLE, wrong)
        with pytest.raises(Exception, match=f"{AT_ONCE_VARIABLE}=.*give the number"):
            pipelines_at_once()
