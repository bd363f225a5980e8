"""The client of Spark's submission server, against a real master with two workers."""

import json
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import psutil
import pytest

from infra import process, spark_key, spark_rest, stack
from infra.endpoints import Endpoints
from infra.errors import InfraError
from infra.layout import Layout
from infra.spark_processes import cluster_processes

# What runs is Spark's own launcher in the cluster; the script need not start a session for that.
JOB = """
import json, os, sys, time
out, seconds = sys.argv[1:]
with open(out, "a") as file:
    print(json.dumps({"argv": sys.argv[2:], "root": os.environ["PYTHONPATH"]}), file=file)
time.sleep(float(seconds))
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Endpoints, Layout]]:
    layout = Layout(tmp_path_factory.mktemp("spark") / "state")
    try:
        yield stack.up(only=["spark"], layout=layout), layout
    finally:
        stack.down(layout=layout)


@pytest.fixture
def job(tmp_path: Path) -> Path:
    path = tmp_path / "job.py"
    path.write_text(JOB)
    return path


def _until(true: Callable[[], object], bound_s: float = 60.0) -> None:
    until = time.monotonic() + bound_s
    while not true():
        assert time.monotonic() < until
        time.sleep(0.1)


def test_a_job_runs_to_its_end_with_its_arguments(
    cluster: tuple[Endpoints, Layout], job: Path
) -> None:
    endpoints, _ = cluster
    out = job.with_name("out")
    one = spark_rest.submit(endpoints, job, [str(out), "0"], name="short", supervise=False)
    _until(lambda: spark_rest.status(endpoints, one).state not in spark_rest.ALIVE)
    driver = spark_rest.status(endpoints, one)
    assert (driver.state, driver.name) == ("FINISHED", "short")
    assert driver.log_dir is not None
    assert (driver.log_dir / "stderr").exists()
    (line,) = out.read_text().splitlines()
    assert json.loads(line)["argv"] == ["0"]
    assert spark_rest.find_driver(endpoints, "short") is None


def test_a_name_has_one_living_driver_which_the_master_brings_back(
    cluster: tuple[Endpoints, Layout], job: Path
) -> None:
    endpoints, layout = cluster
    out = job.with_name("out")

    def submit() -> str:
        return spark_rest.submit(endpoints, job, [str(out), "600"], name="long")

    first = submit()
    assert submit() == first
    assert spark_rest.find_driver(endpoints, "long") == first

    # The caller died between request and answer: the next one finds the driver all the same.
    register = endpoints.state_dir / "spark" / "submissions.json"
    others = [one.submission_id for one in spark_rest.list_drivers(endpoints)]
    before = [one for one in others if one != first]
    register.write_text(json.dumps({"long": {"before": before}}))
    assert submit() == first
    assert [one.submission_id for one in spark_rest.list_drivers(endpoints)] == others

    # Supervised: the driver dies, the script runs again under the same submission.
    workers = [stack.process_of(f"spark-worker-{n}", layout=layout) for n in (1, 2)]
    _until(out.exists)
    (victim,) = [one for one in cluster_processes(workers) if one.kind == "driver"]
    assert victim.job == first
    assert process.send(victim.process, signal.SIGKILL)
    _until(lambda: len(out.read_text().splitlines()) == 2)
    assert spark_rest.find_driver(endpoints, "long") == first

    # Killed for good; the name is free again.
    assert spark_rest.kill(endpoints, first)
    assert spark_rest.status(endpoints, first).state == "KILLED"
    assert not spark_rest.kill(endpoints, first)
    _until(lambda: not cluster_processes(workers))
    second = submit()
    assert second != first
    assert spark_rest.kill(endpoints, second)


def test_a_driver_whose_worker_is_lost_keeps_its_name(
    cluster: tuple[Endpoints, Layout], job: Path
) -> None:
    endpoints, layout = cluster
    out = job.with_name("out")
    first = spark_rest.submit(endpoints, job, [str(out), "600"], name="moves")
    _until(out.exists)
    daemons = [stack.process_of(f"spark-worker-{n}", layout=layout) for n in (1, 2)]
    (host,) = [
        daemon
        for daemon in daemons
        if any(one.kind == "driver" for one in cluster_processes([daemon]))
    ]
    assert process.send(host, signal.SIGKILL)
    try:
        _until(lambda: len(out.read_text().splitlines()) == 2)
        second = spark_rest.find_driver(endpoints, "moves")
        assert second not in (None, first)
        listed = spark_rest.list_drivers(endpoints)
        assert [one.submission_id for one in listed if one.name == "moves"] == [second]
        # Under its old id it is found as well, and there is no twin.
        assert spark_rest.status(endpoints, first).submission_id == second
        again = spark_rest.submit(endpoints, job, [str(out), "600"], name="moves")
        assert again == second
        assert spark_rest.kill(endpoints, first)
        assert spark_rest.find_driver(endpoints, "moves") is None
    finally:
        stack.up(only=["spark"], layout=layout)


def test_a_submission_that_never_reached_the_master_is_made_again(
    cluster: tuple[Endpoints, Layout], job: Path
) -> None:
    endpoints, _ = cluster
    everything = [one.submission_id for one in spark_rest.list_drivers(endpoints)]
    register = endpoints.state_dir / "spark" / "submissions.json"
    register.write_text(json.dumps({"lost": {"before": everything}}))
    assert spark_rest.find_driver(endpoints, "lost") is None
    one = spark_rest.submit(
        endpoints, job, [str(job.with_name("out")), "600"], name="lost", supervise=False
    )
    assert one not in everything
    spark_rest.kill(endpoints, one)


def test_an_unknown_driver_is_unknown(cluster: tuple[Endpoints, Layout]) -> None:
    assert spark_rest.status(cluster[0], "driver-0").state == "UNKNOWN"


def test_a_dead_master_is_one_sentence(tmp_path: Path) -> None:
    nowhere = "http://127.0.0.1:1"
    endpoints = Endpoints("", "spark://127.0.0.1:1", nowhere, nowhere, "", "", "", tmp_path, "")
    with pytest.raises(InfraError, match=r"Spark master does not answer .* `slackwater up`"):
        spark_rest.submit(endpoints, "/x.py", [], name="x")
    with pytest.raises(InfraError, match="Spark master does not answer"):
        spark_rest.find_driver(endpoints, "x") or spark_rest.list_drivers(endpoints)


# --- who may give orders -------------------------------------------------------------------------


def test_orders_without_the_token_are_refused(cluster: tuple[Endpoints, Layout]) -> None:
    endpoints, layout = cluster
    create = f"{endpoints.spark_rest}/v1/submissions/create"
    body = {"action": "CreateSubmissionRequest", "appResource": "file:/tmp/evil.py"}
    # As a page in a browser would send it, and as somebody who guesses a token.
    page = {"Origin": "null", "Content-Type": "text/plain"}
    forged = {"Authorization": "Bearer eyJhbGciOiJIUzI1NiJ9.e30.AAAA"}
    unsigned = {"Authorization": "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0."}
    for headers in ({}, page, forged, unsigned):
        answer = httpx.post(create, json=body, headers=headers, trust_env=False)
        assert answer.status_code == 403
    for order in ("kill/x", "killall", "clear"):
        url = f"{endpoints.spark_rest}/v1/submissions/{order}"
        assert httpx.post(url, trust_env=False).status_code == 403
    assert spark_rest.status(endpoints, "none").state == "UNKNOWN"
    secret = layout.spark / "secret"
    assert secret.stat().st_mode & 0o077 == 0
    other = replace(endpoints, state_dir=layout.state_dir / "other")
    with pytest.raises(InfraError, match="does not take our token"):
        spark_rest.status(other, "none")


def test_a_token_is_good_for_minutes(
    cluster: tuple[Endpoints, Layout], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that had got into a log, or a dump, opened the door for good."""
    endpoints, layout = cluster
    url = f"{endpoints.spark_rest}/v1/submissions/status/none"

    def answer_to(age_s: float) -> int:
        now_s = time.time()
        with monkeypatch.context() as patch:
            patch.setattr(spark_key.time, "time", lambda: now_s - age_s)
            token = spark_key.headers(layout.state_dir)
        return httpx.get(url, headers=token, trust_env=False).status_code

    assert answer_to(0) == 200
    assert answer_to(spark_key.TOKEN_S - 60) == 200
    assert answer_to(spark_key.TOKEN_S + 1) == 403


def test_nobody_else_can_look_into_what_daemons_write(cluster: tuple[Endpoints, Layout]) -> None:
    _, layout = cluster
    for folder in (layout.logs, layout.spark):
        assert folder.stat().st_mode & 0o077 == 0
    for path in (layout.spark / "conf").iterdir():
        assert path.stat().st_mode & 0o077 == 0


def test_the_secret_is_on_no_command_line_and_no_page(cluster: tuple[Endpoints, Layout]) -> None:
    endpoints, layout = cluster
    secret = (layout.spark / "secret").read_text()
    lines = []
    for one in psutil.process_iter(["cmdline"]):
        lines += one.info["cmdline"] or []
    assert not [line for line in lines if secret in line]
    page = httpx.get(endpoints.spark_ui, trust_env=False).text
    assert secret not in page
    assert "/kill/" not in page
    for log in layout.logs.glob("*.log"):
        assert secret not in log.read_text(errors="replace")
