"""What a page may cost: few commands at once, for a limited time, whatever it is sent."""

import asyncio
import json
import os
import shutil
import socket
import sys
import threading
import time
from contextlib import contextmanager

import httpx
import psutil
import pytest
from pages import NAME, SENT, login, page

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


HUGE = 600 * 1024


def put(replies, name: str, size: int = 0) -> None:
    """Put a pipeline into the project, with a comment of some bytes."""
    folder = replies.parent / "project" / "pipelines"
    text = (folder / f"{NAME}.yml").read_text().replace(NAME, name)
    (folder / f"{name}.yml").write_text(text + "# " + "x" * size + "\n")


@pytest.fixture
def parsed(monkeypatch) -> list[tuple[str, bool]]:
    """The files that were parsed since, each with whether that was on an event loop."""
    from windowing.model.file import pipeline

    found = []
    real = pipeline.parse_document

    def noted(text, file, *arguments, **more):
        on_loop = asyncio._get_running_loop() is not None
        found.append((os.path.basename(file), on_loop))
        return real(text, file, *arguments, **more)

    monkeypatch.setattr(pipeline, "parse_document", noted)
    return found


def test_a_page_reads_its_own_file_once_and_never_on_the_event_loop(anybody, replies, parsed):
    put(replies, "other")
    put(replies, "huge", HUGE)
    row = {"run": "r2", "query": "hourly", "window_id": 7, "origin": "EWR"}
    (replies / "newest.json").write_text(json.dumps(row))
    client = login(anybody)
    asked = "run=r2&query=hourly"
    for way in ("", "overview.json", f"rows?{asked}", f"why?{asked}&window=1"):
        assert client.get(f"/{NAME}/{way}").status_code == 200
    assert parsed == [(f"{NAME}.yml", False)]
    # A change is seen at once.
    file = replies.parent / "project" / "pipelines" / f"{NAME}.yml"
    file.write_text(file.read_text() + "# changed\n")
    page(client)
    assert parsed == [(f"{NAME}.yml", False)] * 2
    file.unlink()
    assert client.get(f"/{NAME}/").status_code == 404


def test_a_file_that_is_too_large_for_everybody_gets_an_error_and_hides_no_other(replies):
    from dags.entities import read_deployments

    put(replies, "huge", HUGE)
    put(replies, "many")
    many = replies.parent / "project" / "pipelines" / "many.yml"
    many.write_text(many.read_text() + f"extra: [{'1,' * 20_001}]\n")
    deployments, broken = read_deployments(replies.parent / "project")
    assert [one.name for one in deployments] == [NAME]
    size = (replies.parent / "project" / "pipelines" / "huge.yml").stat().st_size
    said = {one.file: one.message for one in broken}
    assert f"has {size:,} bytes: at most 256 KiB are read, split it" in said["pipelines/huge.yml"]
    assert "more than 20,000 keys and values" in said["pipelines/many.yml"]


def test_a_task_reads_no_file_but_its_own(replies, parsed):
    from dags.entities import pipeline_of
    from dags.render import read_dags

    put(replies, "other")
    root = replies.parent / "project"
    found, broken = read_dags(root, root / "pipelines", f"{NAME}.news")
    assert {pipeline_of(dag.dag_id) for dag in found} == {NAME}
    assert f"{NAME}.news" in {dag.dag_id for dag in found}
    assert broken == []
    assert [file for file, _ in parsed] == [f"{NAME}.yml"]


def test_a_file_named_like_an_option_is_none(tmp_path, replies):
    from dags.entities import read_deployments

    shutil.copy(replies.parent / "project" / "pipelines" / f"{NAME}.yml", tmp_path / "--help.yml")
    ((one,), broken) = read_deployments(tmp_path, tmp_path)
    assert (one.file, broken) == ("./--help.yml", [])


LONG = "x" * 5_000
WAYS = [
    "/a%00b/",
    f"/{NAME}%00/",
    f"/{LONG}/",
    f"/{'x' * 260}/",
    f"/{NAME}/rows?run=a%00b&query=q",
    f"/{NAME}/rows?run={LONG}&query=q",
    f"/{NAME}/why?run=r&query=q&window=1&key=%00",
    f"/{NAME}/why?run=r&query=q&window=1&key={LONG}",
    f"/{NAME}/why?run=r&query=q&window=1{'&key=a' * 200}",
    f"/{NAME}/why?run=r&query=q&window=1&key={LONG * 4}",
    f"/{NAME}/started?action=stop&dag_run=%00",
    f"/{NAME}/started?action={LONG}&dag_run=r",
    "/?search=%00",
    f"/?search={LONG}",
    f"/{NAME}/nowhere",
]


@pytest.mark.usefixtures("replies")
@pytest.mark.parametrize("way", WAYS)
def test_an_address_that_nothing_has_is_refused_with_a_sentence_and_the_policy(anybody, way):
    refused(login(anybody).get(way))


FORMS = [
    {"action": "st\0op"},
    {"action": LONG},
    {"action": "resume", "run": "a\0b"},
    {"action": "resume", "run": LONG},
    {"action": "chaos", "plan": LONG},
    {"action": "replay", "run": "r", "replay_from": "\0"},
    {"action": "stop", "shown_run": "x" * 100_000},
    {"action": "stop", "shown_file": "\0"},
    {"action": "stop", "shown_file": "0" * 64, "shown_run": LONG},
    {},
]


@pytest.mark.usefixtures("replies")
@pytest.mark.parametrize("form", FORMS)
def test_a_form_that_no_page_has_is_refused_with_a_sentence_and_the_policy(anybody, form):
    refused(login(anybody, "op").post(f"/{NAME}/actions", data=form, headers=SENT))


def test_no_form_is_read_that_is_larger_than_any_of_ours(anybody):
    """It is read before it is known who sends it: a form of anybody's must not fill the memory."""
    form = {"content-type": "application/x-www-form-urlencoded"}
    sent = b"action=" + b"x" * 10_000_000
    answer = anybody.post(f"/{NAME}/actions", content=sent, headers=SENT | form)
    assert answer.status_code == 413
    refused(answer)


def refused(answer) -> None:
    assert 400 <= answer.status_code < 500, answer.text
    assert isinstance(answer.json()["detail"], str)
    assert len(answer.text) < 3_000  # what was sent is not sent back
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_a_page_that_breaks_has_the_policy_and_says_so(replies, airflow_database):
    from airflow.api_fastapi.app import create_auth_manager
    from fastapi.testclient import TestClient

    from dags.page.app import app

    kept = replies.parent / "state" / "page"
    kept.mkdir(parents=True)
    (kept / f"{NAME}.json").write_text(json.dumps([{"pipeline": NAME}]))  # of another version
    create_auth_manager()
    with TestClient(app, raise_server_exceptions=False) as client:
        answer = login(client).get(f"/{NAME}/", headers={"accept": "text/html"})
    assert answer.status_code == 500
    assert "this page could not be made" in answer.text
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
