"""A master that keeps its drivers in memory, and programs that note what ours note.

It answers what `infra.spark_rest` and `infra.spark_room` ask, for thousands of steps a minute. The
same model is run on a real cluster (`tests/stack/test_life.py`), which shows that this one is true.
"""

from __future__ import annotations

import json
import re
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from infra.endpoints import Endpoints
from jobs.runs.attempts import Attempt
from jobs.runs.folder import FAILURE_FILE

ALIVE = ("SUBMITTED", "RUNNING")
_KILL, _STATUS = re.compile(r"/submissions/kill/(.+)"), re.compile(r"/submissions/status/(.+)")


@dataclass
class Driver:
    """One driver.

    Attributes:
        number: in the order of submission.
        file: the run's own copy of the file.
        arguments: of the program.
        state: as the master calls it.
        attempt: the program that runs; None: its process is gone, or not there yet.
    """

    number: int
    file: Path
    arguments: tuple[str, ...]
    state: str = "SUBMITTED"
    attempt: Attempt | None = None

    @property
    def id(self) -> str:
        return f"driver-{self.number}"

    def step(self, bad: str) -> None:
        """What its cluster and its program do next."""
        if self.state == "SUBMITTED":
            self.state = "RUNNING"
        elif self.attempt is None:
            self.attempt = Attempt(self.file.parent)
            self.attempt.begin()
        elif bad in self.file.read_text(encoding="utf-8"):
            (self.file.parent / FAILURE_FILE).write_text(json.dumps({"error": "it is bad"}))
            self.state = "FINISHED"
        else:
            self.attempt.is_well()


@dataclass
class PretendedCluster:
    """A cluster of no processes.

    Attributes:
        state_dir: of the stack that it pretends to be part of.
        bad: what stands in the file of a job that cannot run.
    """

    state_dir: Path
    bad: str
    drivers: list[Driver] = field(default_factory=list)

    def __enter__(self) -> PretendedCluster:
        cluster = self

        class Master(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked = _STATUS.search(self.path)
                self._answer(cluster.status(asked[1]) if asked else cluster.page())

            def do_POST(self) -> None:
                sent = self.rfile.read(int(self.headers["Content-Length"]))
                asked = _KILL.search(self.path)
                answer = cluster.kill(asked[1]) if asked else cluster.create(json.loads(sent))
                self._answer(answer)

            def _answer(self, answer: dict[str, Any]) -> None:
                self.send_response(200)
                self.end_headers()
                self.wfile.write(json.dumps(answer).encode())

            def log_message(self, *arguments: object) -> None:
                """Says nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Master)
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def endpoints(self) -> Endpoints:
        place = f"http://127.0.0.1:{self._server.server_port}"
        names = {"kafka_bootstrap": "one:9092", "spark_master": "spark://one:7077", "jars": ""}
        airflow = {"airflow_url": "", "airflow_user": "", "airflow_password": ""}
        return Endpoints(
            **names, **airflow, spark_rest=place, spark_ui=place, state_dir=self.state_dir
        )

    def settle(self) -> None:
        """Let everything happen that happens by itself."""
        for driver in self.drivers:
            for _ in range(4):
                if driver.state in ALIVE:
                    driver.step(self.bad)

    def kill_a_driver(self) -> bool:
        """SIGKILL the process of a driver; the master starts it again. False: there is none."""
        found = [one for one in self.drivers if one.state == "RUNNING" and one.attempt]
        for driver in found:
            driver.attempt = None
        return bool(found)

    def page(self) -> dict[str, Any]:
        entries = [
            {"id": one.id, "state": one.state, "starttime": str(one.number), "cores": 1}
            | {"memory": 1024, "worker": "worker-1"}
            for one in self.drivers
        ]
        return {
            "activedrivers": [one for one in entries if one["state"] in ALIVE],
            "completeddrivers": [one for one in entries if one["state"] not in ALIVE],
            "activeapps": [],
            "completedapps": [],
            "workers": [{"state": "ALIVE", "cores": 3, "coresfree": 3, "memoryfree": 3072}],
        }

    def status(self, asked: str) -> dict[str, Any]:
        state = next((one.state for one in self.drivers if one.id == asked), None)
        return {"success": state is not None, "driverState": state}

    def create(self, request: dict[str, Any]) -> dict[str, Any]:
        arguments = request["appArgs"]
        file = next(Path(one) for one in arguments if one.endswith(".yml"))
        driver = Driver(len(self.drivers), file, tuple(arguments))
        self.drivers.append(driver)
        return {"success": True, "submissionId": driver.id}

    def kill(self, asked: str) -> dict[str, Any]:
        for driver in self.drivers:
            if driver.id == asked and driver.state in ALIVE:
                driver.state, driver.attempt = "KILLED", None
        return {"success": True}
