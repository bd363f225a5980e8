"""The commands that a page calls: few at once, for a limited time, and none that nobody waits for.

On a real server: only there does a client go away.
"""

import os
import socket
import sys
import threading
import time
from contextlib import contextmanager

import httpx
import psutil
import pytest
from pages import NAME, login

from dags.page import calls

# A `slackwater` whose questions take long, with a child that ignores what asks it to end.
COMMAND = """
import os, pathlib, signal, subprocess, sys, time
home = pathlib.Path(sys.argv[1])
if sys.argv[2] == "overview":
    sys.exit("error: not asked here")
if (home / "many").exists():
    while True:
        print("x" * 100_000)
stubborn = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
child = subprocess.Popen([sys.executable, "-c", stubborn], stdout=subprocess.DEVNULL)
(home / f"{os.getpid()}.{child.pid}").touch()
while not (home / "go").exists():
    time.sleep(0.02)
child.kill()
child.wait()
print("{}")
"""

WAY = f"/pipelines/{NAME}/why?run=r&query=hourly&window=1"


def wait_for(what, message="it holds"):
    until_s = time.monotonic() + 60
    while not (found := what()):
        assert time.monotonic() < until_s, message
        time.sleep(0.02)
    return found


class Site:
    """Airflow's site on a real server, and the processes that its pages have started."""

    def __init__(self, port, home, cookies) -> None:
        self.port, self.home, self.cookies = port, home, cookies

    def begun(self) -> list[int]:
        """All processes that were ever started: commands and their children."""
        names = [one.name for one in self.home.iterdir() if one.name[0].isdigit()]
        return [int(part) for name in names for part in name.split(".")]

    def living(self) -> list[int]:
        def lives(pid):
            try:
                return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
            except psutil.NoSuchProcess:
                return False

        return [pid for pid in self.begun() if lives(pid)]

    def ask(self, patience_s: float = 120) -> httpx.Response:
        """Ask a question; who loses patience goes away."""
        address = f"http://127.0.0.1:{self.port}{WAY}"
        with httpx.Client(cookies=self.cookies, timeout=patience_s, trust_env=False) as client:
            return client.get(address)

    def refusal(self) -> httpx.Response | None:
        """The answer to one question more than is taken; None: there are not so many yet."""
        try:
            answer = self.ask(patience_s=1)
        except httpx.TimeoutException:
            return None
        assert answer.status_code == 503
        return answer

    def ask_and_leave_open(self) -> socket.socket:
        asked = socket.create_connection(("127.0.0.1", self.port))
        cookie = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        head = f"GET {WAY} HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: {cookie}\r\n\r\n"
        asked.sendall(head.encode())
        return asked


@contextmanager
def serving(app):
    """Serve an application; yields the port."""
    import uvicorn

    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_config=None))
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        try:
            wait_for(lambda: server.started)
            yield listening.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join(60)
            assert not thread.is_alive()


@pytest.fixture
def site(replies, airflow_database, tmp_path, monkeypatch):
    from airflow.api_fastapi.app import create_app
    from fastapi.testclient import TestClient

    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "long.py").write_text(COMMAND)
    monkeypatch.setenv("SLACKWATER_COMMAND", f"{sys.executable} {tmp_path / 'long.py'} {home}")
    app = create_app(apps="core")
    cookies = dict(login(TestClient(app)).cookies)
    with serving(app) as port:
        here = Site(port, home, cookies)
        try:
            yield here
        finally:
            for pid in here.living():
                os.kill(pid, 9)


def test_a_command_is_ended_with_all_of_its_children_when_nobody_waits_for_it(site):
    asked = site.ask_and_leave_open()
    wait_for(lambda: len(site.living()) == 2, "the command and its child live")
    asked.close()
    wait_for(lambda: site.living() == [], "both are ended")


def test_a_few_commands_run_at_once_a_few_wait_and_all_others_are_refused(site):
    open_ = [site.ask_and_leave_open() for _ in range(calls.AT_ONCE + calls.WAITING_MAX)]
    wait_for(lambda: len(site.living()) == 2 * calls.AT_ONCE, "as many as may run do")
    refused = wait_for(site.refusal, "one more is refused")
    assert refused.headers["Retry-After"].isdecimal()
    assert "default-src 'none'" in refused.headers["Content-Security-Policy"]
    assert (
        f"{calls.AT_ONCE} questions are being answered and {calls.WAITING_MAX} wait"
        in (refused.json()["detail"])
    )
    assert len(site.begun()) == 2 * calls.AT_ONCE
    for one in open_[:-1]:
        one.close()
    # The one that is still waited for has its turn, though all before it have gone.
    (site.home / "go").touch()
    assert open_[-1].recv(12) == b"HTTP/1.1 200"
    open_[-1].close()
    wait_for(lambda: site.living() == [], "none is left")
    assert site.ask().status_code == 200


LIMITS = {
    "TIME_S": (0.5, "took longer than 0.5 s"),
    "BYTES_MAX": (1_000_000, "printed more than 1,000,000 bytes"),
}


@pytest.mark.parametrize("limit", LIMITS)
def test_a_command_that_goes_beyond_a_limit_is_ended_with_a_sentence(site, monkeypatch, limit):
    value, said = LIMITS[limit]
    monkeypatch.setattr(calls, limit, value)
    if limit == "BYTES_MAX":
        (site.home / "many").touch()
    answer = site.ask()
    assert answer.status_code == 504
    assert said in answer.json()["detail"]
    assert "call it in a terminal" in answer.json()["detail"]
    assert site.living() == []
    mine = psutil.Process().children(recursive=True)
    assert [one for one in mine if "long.py" in " ".join(one.cmdline())] == []
