"""A file of events on its topic: once, however often it is sent, and behind nothing else."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

import pytest
from typer.testing import CliRunner

from chaos.readers.log import LogRecord, read_events
from chaos.readers.topic import read_topic
from jobs.brokers.producing import send_all
from slackwater.main import app
from windowing.model import load_pipeline

TEMPLATE = Path(__file__).parents[4] / "slackwater" / "template"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A new project's pipeline and events, on a topic of the test's own."""
    topic = f"orders-{uuid.uuid4().hex[:8]}"
    for name in ("pipelines/orders.yml", "data/events.jsonl"):
        text = (TEMPLATE / name).read_text(encoding="utf-8")
        text = text.replace("topic: orders", f"topic: {topic}")
        text = text.replace('"source": "orders"', f'"source": "{topic}"')
        (tmp_path / Path(name).name).write_text(text, encoding="utf-8")
    return tmp_path


def send(shop: Path, broker: str) -> tuple[int, str]:
    line = ["send", str(shop / "orders.yml"), "--input", str(shop / "events.jsonl")]
    ran = CliRunner().invoke(app, [*line, "--bootstrap", broker])
    return ran.exit_code, ran.stdout or str(ran.exception)


def test_a_log_is_sent_once_and_goes_on_where_it_was(shop: Path, kafka_broker: str) -> None:
    spec, events = load_pipeline(shop / "orders.yml"), shop / "events.jsonl"
    whole = events.read_text().splitlines(keepends=True)
    topic = spec.source.topic
    events.write_text("".join([*whole[:100], whole[99]]))  # the last one twice: a redelivery
    assert send(shop, kafka_broker) == (0, f"100 records on topic {topic}, 100 appended\n")
    assert send(shop, kafka_broker) == (0, f"100 records on topic {topic}, 0 appended\n")
    events.write_text("".join(whole))
    assert send(shop, kafka_broker) == (0, f"244 records on topic {topic}, 144 appended\n")
    sent, log = read_topic(kafka_broker, topic), read_events(events)
    assert sorted(map(content, sent)) == sorted(map(content, log))


def test_it_is_not_sent_behind_something_else(shop: Path, kafka_broker: str) -> None:
    topic = load_pipeline(shop / "orders.yml").source.topic
    assert send(shop, kafka_broker)[0] == 0
    send_all(kafka_broker, topic, [(1, json.dumps({"other": 1}).encode(), None)])
    code, said = send(shop, kafka_broker)
    assert code == 1
    assert f"topic {topic!r} holds other records than the file: partition 1 ends at" in said


def content(record: LogRecord) -> tuple[int, int, bytes, bytes]:
    return record.partition, record.offset, record.value or b"", record.control or b""
