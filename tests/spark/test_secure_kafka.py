"""A pipeline's life on a broker that wants a login over TLS and knows ACLs; and each refusal.

What a refusal must be: one sentence with user, topic and remedy, soon, and no password anywhere.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from chaos.readers.log import LogError
from chaos.readers.topic import read_topic
from infra.kafka_settings import KafkaSettings, settings
from infra.kafka_spelling import hand_over
from infra.layout import ROOT
from infra.ports import free_port
from infra.spark import connector_jars
from jobs.brokers.broker import BrokerError
from jobs.brokers.producing import send_all
from jobs.brokers.topics import TopicError, create_topic, end_offsets
from jobs.runs import FAILURE_FILE, SECRETS_FOLDER
from tests.bounds import within
from tests.secure_broker import PASSWORD, USER, SecureBroker, given, secure_kafka

__all__ = ["secure_kafka"]


SOON_S = 15.0
EVERYTHING = ("CREATE", "DESCRIBE", "READ", "WRITE")
PIPELINE = """\
name: secure
source:
  topic: {topic}
  partitions: 2
  format: json
  event_time: {{field: ts, unit: s}}
  fields: {{v: int}}
  disorder: {{slack: 2 seconds}}
shards: 1
queries:
  w: {{window: RANGE 10 seconds SLIDE 10 seconds WATTR ts, aggregates: {{n: count, sum: sum(v)}}}}
"""


@pytest.fixture(scope="module")
def topic(secure_kafka: SecureBroker) -> str:
    """A topic with eight records, on which our user may do everything."""
    secure_kafka.allow(USER, *EVERYTHING, topic="tides")
    with pytest.MonkeyPatch.context() as patch, given(secure_kafka.settings(), patch):
        create_topic(secure_kafka.login, "tides", 2)
        messages = [(n % 2, json.dumps({"ts": 5 * n, "v": n}).encode(), None) for n in range(8)]
        assert send_all(secure_kafka.login, "tides", messages) == 8
    return "tides"


def refused(action: Callable[[], object]) -> str:
    """What it says; it must say so soon, in one sentence, without the password."""
    refusal = pytest.raises((BrokerError, TopicError, LogError))
    with within(SOON_S, time.monotonic), refusal as caught:
        action()
    said = str(caught.value)
    assert "\n" not in said
    assert PASSWORD not in said
    return said


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512", "PLAIN"])
def test_each_mechanism_reads(
    secure_kafka: SecureBroker, topic: str, mechanism: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    user, password = ("plain", "simple") if mechanism == "PLAIN" else (USER, PASSWORD)
    secure_kafka.allow("plain", "DESCRIBE", "READ", topic=topic)
    by = secure_kafka.settings(mechanism=mechanism, username=user, password=password)
    with given(by, monkeypatch):
        assert len(list(read_topic(secure_kafka.login, topic))) == 8


def test_a_certificate_is_a_login(
    secure_kafka: SecureBroker, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, folder = secure_kafka.certificate, secure_kafka.folder
    by = {"SLACKWATER_KAFKA_BOOTSTRAP": place, "SLACKWATER_KAFKA_CA": str(folder / "ca.pem")}
    with given(by, monkeypatch):
        said = refused(lambda: end_offsets(place, topic))
    assert "it may want a certificate that it trusts, `tls.certificate`" in said
    secure_kafka.allow("otter", "DESCRIBE", topic=topic)
    by["SLACKWATER_KAFKA_CERTIFICATE"] = str(folder / "client.pem")
    with given(by, monkeypatch):
        assert end_offsets(place, topic) == {0: 4, 1: 4}


@pytest.mark.parametrize("kind", ["password", "user", "PLAIN"])
def test_a_wrong_login_is_said_at_once(
    secure_kafka: SecureBroker, topic: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = {"password": {"password": "ebb"}, "user": {"username": "nobody"}}
    by = secure_kafka.settings(**wrong.get(kind, {"mechanism": "PLAIN"}))
    place = secure_kafka.login
    with given(by, monkeypatch):
        for action in (
            lambda: create_topic(place, "tides", 2),
            lambda: end_offsets(place, topic),
            lambda: list(read_topic(place, topic)),
            lambda: send_all(place, topic, [(0, b"{}", None)]),
        ):
            said = refused(action)
            assert "does not accept the login of user" in said
            assert "correct username, password or mechanism" in said


def test_a_missing_acl_is_named_with_user_topic_and_operation(
    secure_kafka: SecureBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = secure_kafka.login
    with given(secure_kafka.settings(), monkeypatch):

        def said(action: Callable[[], object], operation: str) -> None:
            words = refused(action)
            assert f"user '{USER}' may not {operation}" in words
            assert f"--operation {operation.capitalize()} --topic bare`" in words

        said(lambda: create_topic(place, "bare", 1), "describe")
        secure_kafka.allow(USER, "DESCRIBE", topic="bare")
        said(lambda: create_topic(place, "bare", 1), "create")
        secure_kafka.allow(USER, "CREATE", topic="bare")
        create_topic(place, "bare", 1)
        words = refused(lambda: send_all(place, "bare", [(0, b"{}", None)]))
        assert f"user '{USER}' may not write topic 'bare'" in words
        said(lambda: list(read_topic(place, "bare", ends={0: 1})), "read")
        secure_kafka.forbid(USER, "CREATE", "DESCRIBE", topic="bare")
        hidden = refused(lambda: end_offsets(place, "bare"))
        assert f"does not exist on {place}, or user '{USER}' may not describe it" in hidden
        assert "--operation Describe --topic bare`" in hidden


def test_whom_we_do_not_believe_is_named(
    secure_kafka: SecureBroker, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with given(secure_kafka.settings(ca="other-ca.pem"), monkeypatch):
        said = refused(lambda: end_offsets(secure_kafka.login, topic))
        assert "is not trusted" in said
        assert "other-ca.pem" in said
    place = secure_kafka.login.replace("localhost", "127.0.0.1")
    with given(secure_kafka.settings(bootstrap=place), monkeypatch):
        said = refused(lambda: end_offsets(place, topic))
        assert "does not name 127.0.0.1: call the broker by a name that it has" in said
    with given(secure_kafka.settings(bootstrap=secure_kafka.admin), monkeypatch):
        assert "does not speak TLS" in refused(lambda: end_offsets(secure_kafka.admin, topic))


# --- the whole way -----------------------------------------------------------------------------


class Job:
    """One job of the session's, in a folder as a run has it."""

    def __init__(self, folder: Path, topic: str, by: dict[str, str]) -> None:
        self.folder, self.table = folder, folder / "tables"
        folder.mkdir(parents=True)
        self.file = folder / "secure.yml"
        self.file.write_text(PIPELINE.format(topic=topic))
        found = settings(by)
        assert isinstance(found, KafkaSettings)
        kafka = hand_over(found, folder / SECRETS_FOLDER)
        words = ["--run", "r", "--bootstrap", found.bootstrap, "--kafka", kafka]
        words += ["--checkpoint", folder / "checkpoint", "--table", self.table, "--available-now"]
        words += ["--parallelism", "1"]  # a task costs seconds on a busy machine
        self.arguments = [str(word) for word in (self.file, *words)]

    @property
    def failure(self) -> str:
        """Why it gave up."""
        return str(json.loads((self.folder / FAILURE_FILE).read_text())["error"])


@contextmanager
def spark(arguments: list[list[str]], log: Path, events: Path) -> Iterator[subprocess.Popen[str]]:
    """The session, with its page and its record of events; nothing of it stays."""
    events.mkdir()
    conf = {
        "spark.ui.port": str(free_port()),
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": str(events),
        "spark.sql.streaming.kafka.allowNonConsumerGroupId": "false",
    }
    submit = " ".join(f"--conf {name}={value}" for name, value in conf.items())
    submit = f"--master local[2] --jars {connector_jars()} {submit} pyspark-shell"
    clean = {name: value for name, value in os.environ.items() if "KAFKA" not in name}
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.spark.several_jobs", json.dumps(arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=out,
            text=True,
            cwd=ROOT,
            env=clean | {"PYSPARK_SUBMIT_ARGS": submit},
        )
    with process:  # which closes its input; so it ends by itself
        try:
            yield process
        except BaseException:
            process.kill()
            raise


def pages(base: str) -> str:
    """All that the session's page shows, and what it gives as data."""
    application = json.loads(fetch(f"{base}/api/v1/applications"))[0]["id"]
    data = f"{base}/api/v1/applications/{application}"
    seen = [fetch(f"{base}/{one}/") for one in ("jobs", "stages", "environment", "executors")]
    seen += [fetch(f"{data}/{one}") for one in ("environment", "jobs", "stages")]
    seen.append(fetch(f"{data}/sql?details=true&planDescription=true&length=1000"))
    for number in range(len(json.loads(seen[-1]))):
        seen.append(fetch(f"{base}/SQL/execution/?id={number}"))
    runs = fetch(f"{base}/StreamingQuery/")
    seen.append(runs)
    for link in set(re.findall(r"statistics/?\?id=[0-9a-f-]+", runs)):
        seen.append(fetch(f"{base}/StreamingQuery/{link}"))
    assert "secure" in seen[-1]
    return "\n".join(seen)


def fetch(url: str) -> str:
    with urllib.request.urlopen(url, timeout=20) as answer:  # noqa: S310 - our own
        return str(answer.read().decode())


def command_lines() -> str:
    """Of every process of this machine that we may look at."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(path.read_bytes().decode(errors="replace"))
        except OSError:  # ended meanwhile
            continue
    return "\n".join(found)


def slackwater(broker: SecureBroker, folder: Path, *words: object) -> str:
    """Call the command with a settings file; gives all that it says."""
    file = folder / "slackwater.yml"
    file.write_text(
        f"kafka:\n  bootstrap: {broker.login}\n"
        f"  sasl: {{mechanism: SCRAM-SHA-512, username: {USER}, password: '${{TIDE}}'}}\n"
        f"  tls: {{ca: {broker.folder / 'ca.pem'}}}\n"
    )
    command = [sys.executable, "-m", "slackwater.main", "--kafka", file, *words]
    done = subprocess.run(
        [str(word) for word in command],
        cwd=ROOT,
        env=os.environ | {"TIDE": PASSWORD, "SLACKWATER_STATE_DIR": str(folder / "state")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_a_pipeline_from_topic_to_proof_and_no_word_of_the_password(
    secure_kafka: SecureBroker, topic: str, tmp_path: Path
) -> None:
    broker = secure_kafka
    broker.allow(USER, "DESCRIBE", topic="unread")
    broker.allow("ANONYMOUS", *EVERYTHING, topic="unread")
    create_topic(broker.admin, "unread", 2)
    send_all(broker.admin, "unread", [(0, b"{}", None)])
    elsewhere, wrong = broker.login.replace("localhost", "127.0.0.1"), "ebb"
    by = {
        "good": Job(tmp_path / "good", topic, broker.settings()),
        "password": Job(tmp_path / "password", topic, broker.settings(password=wrong)),
        "acl": Job(tmp_path / "acl", "unread", broker.settings()),
        "hidden": Job(tmp_path / "hidden", "hidden", broker.settings()),
        "ca": Job(tmp_path / "ca", topic, broker.settings(ca="other-ca.pem")),
        "name": Job(tmp_path / "name", topic, broker.settings(bootstrap=elsewhere)),
    }
    events, log = tmp_path / "events", tmp_path / "spark.log"
    with spark([job.arguments for job in by.values()], log, events) as process:
        said = slackwater(broker, tmp_path, "topics", by["good"].file)
        assert process.stdout is not None
        page = process.stdout.readline()
        assert page.startswith("page "), log.read_text()[-3000:]
        shown = pages(page.split()[1])
        lines = command_lines()
    assert process.returncode == 0

    table = by["good"].table
    said += slackwater(broker, tmp_path, "verify", by["good"].file, "--table", table, "--topic")
    assert "lost 0, duplicated 0, differing 0" in said
    assert f"login of user '{USER}' (SCRAM-SHA-512): correct" in by["password"].failure
    assert f"user '{USER}' may not read or describe topic 'unread'" in by["acl"].failure
    assert f"user '{USER}' may not describe topic 'hidden' on" in by["hidden"].failure
    assert "`tls.ca` must name who signed it" in by["ca"].failure
    assert f"on {elsewhere} does not name 127.0.0.1: call the broker" in by["name"].failure

    records = [path for path in tmp_path.rglob("*") if path.is_file()]
    kept = [path for path in records if path.parent.name != SECRETS_FOLDER]
    assert len(kept) > 20
    assert any(path.is_relative_to(events) for path in kept)
    texts = {str(path): path.read_bytes().decode(errors="replace") for path in kept}
    texts |= {"pages": shown, "lines": lines, "said": said, "broker": broker.log.read_text()}
    # The password itself, and as JSON, a login module or a page would quote it.
    for part in ("pa ss", "of-the-tide"):
        assert [name for name, text in texts.items() if part in text] == []
    # All have ended for good, one by itself: nobody needs the login any more.
    assert [name for name, job in by.items() if (job.folder / SECRETS_FOLDER).exists()] == []
