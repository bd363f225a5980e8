"""A stand-in for the Spark master: it takes submissions and orders, and reports what it knows.

A real one is asked the same in tests/spark.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Master:
    """What it was sent, and the drivers that it has.

    Attributes:
        url: where it answers.
        sent: the bodies of all requests that change something.
        states: of each driver, by its id.
    """

    url: str = ""
    sent: list[str] = field(default_factory=list)
    states: dict[str, str] = field(default_factory=dict)

    @property
    def submitted(self) -> list[list[str]]:
        """The arguments of all jobs that were submitted."""
        requests = (json.loads(body) for body in self.sent)
        return [request["appArgs"] for request in requests if "appArgs" in request]

    @property
    def living(self) -> list[str]:
        """The ids of the drivers that live."""
        return [name for name, state in self.states.items() if state == "RUNNING"]


@contextmanager
def standing_in() -> Iterator[Master]:
    """Such a master, until the block ends."""
    master = Master()

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            drivers = [
                {"id": name, "state": state, "starttime": name}
                for name, state in master.states.items()
            ]
            state = master.states.get(self.path.rpartition("/")[2])
            active = [one for one in drivers if one["state"] == "RUNNING"]
            ended = [one for one in drivers if one["state"] != "RUNNING"]
            self._answer({"activedrivers": active, "completeddrivers": ended, "driverState": state})

        def do_POST(self) -> None:
            master.sent.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
            if "kill" in self.path:
                name = self.path.rpartition("/")[2]
                master.states[name] = "KILLED"
            else:
                name = f"driver-{len(master.states) + 1}"
                master.states[name] = "RUNNING"
            self._answer({"success": True, "submissionId": name})

        def _answer(self, what: dict[str, object]) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(what).encode())

        def log_message(self, *arguments: object) -> None:
            """Says nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        master.url = f"http://127.0.0.1:{server.server_port}"
        yield master
        server.shutdown()
