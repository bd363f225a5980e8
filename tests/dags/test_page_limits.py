"""What a page may cost, and what it makes of input that nothing of ours has."""

import asyncio
import json
import os
import shutil

import pytest
from pages import NAME, SENT, login, page

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
    (replies / "newest.txt").write_text(json.dumps(row))
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
    from dags.render import read_dags

    put(replies, "other")
    root = replies.parent / "project"
    found, broken = read_dags(root, root / "pipelines", f"{NAME}.news")
    assert {dag.dag_id for dag in found} == {NAME, f"{NAME}.news"}
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
