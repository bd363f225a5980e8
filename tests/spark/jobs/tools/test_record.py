"""A topic as a file: what `run` makes of the recording is what the topic means."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

import pytest
from typer.testing import CliRunner

from chaos.readers.log import LogRecord, read_events
from chaos.readers.topic import read_topic
from jobs.brokers.producing import send_all
from jobs.brokers.topics import create_topic
from slackwater.main import app
from tests.unit.jobs.tools.test_record import TEXT

VALUES: list[bytes | None] = [
    b'{"ts":1,"g":"a","v":1.50}',
    b'{ "ts": 2, "g": "a",\n  "v": 1e2 }',
    b'{"ts":3,"g":"\xff","v":1}',
    b"\x00\x01\xfe\xff",
    b"",
    None,
    b'{"ts":4,"v":NaN}',
    b'{"ts":5,"g":"\\ud800","v":1}',
    '{"ts":60,"g":"ä\u2028","v":-0.0}'.encode(),
    b'{"ts":1,"g":"late","v":7}',
    b'{"ts":90,"v":2}{"ts":91}',
]
CONTROLS = [b'{"bound": 70000000}', b'{"bund":1}', b'{"end":true}']


@pytest.fixture(scope="module")
def topic(kafka_broker: str) -> str:
    """A topic with values and controls of every kind."""
    name = f"record-{uuid.uuid4().hex[:8]}"
    create_topic(kafka_broker, name, 2)
    messages = [(at % 2, value, None) for at, value in enumerate(VALUES * 2)]
    messages += [(lane, b"", control) for lane in (0, 1) for control in CONTROLS]
    send_all(kafka_broker, name, iter(messages))
    return name


@pytest.fixture
def pipeline(topic: str, tmp_path: Path) -> Path:
    file = tmp_path / "p.yml"
    file.write_text(TEXT.format(topic=topic), encoding="utf-8")
    return file


def told(*arguments: object) -> str:
    """What a command says; it must pass."""
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code == 0, done.output
    return done.output


def lanes(log: list[LogRecord]) -> list[LogRecord]:
    return sorted(log, key=lambda record: (record.partition, record.offset))


def test_a_recording_means_what_the_topic_means(
    kafka_broker: str, pipeline: Path, topic: str, tmp_path: Path
) -> None:
    events, out = tmp_path / "events.jsonl", tmp_path / "out.jsonl"
    at = ("--bootstrap", kafka_broker)
    assert "28 records" in told("record", pipeline, "--output", events, *at)
    recorded, there = lanes([*read_events(events)]), lanes([*read_topic(kafka_broker, topic)])
    for kept, record in zip(recorded, there, strict=True):
        assert kept.control == record.control
        assert kept.append_us == record.append_us
        # What is text, JSON or not, keeps its bytes; the rest is as little JSON as it was.
        if record.value not in (None, b"\x00\x01\xfe\xff"):
            assert kept.value == record.value
    told("run", pipeline, "--input", events, "--output", out)
    assert out.stat().st_size
    for log in (("--topic", *at), ("--input", events)):
        verdict = told("verify", pipeline, "--output", out, *log)
        assert verdict.endswith("lost 0, duplicated 0, differing 0\n")


def test_a_range_is_recorded_by_offsets_or_by_time(
    kafka_broker: str, pipeline: Path, topic: str, tmp_path: Path
) -> None:
    there = lanes([*read_topic(kafka_broker, topic)])

    def offsets(*range_: str) -> list[tuple[int, int]]:
        events = tmp_path / "events.jsonl"
        told(
            *("record", pipeline, "--output", events, "--force"),
            *("--bootstrap", kafka_broker, *range_),
        )
        return [(record.partition, record.offset) for record in lanes([*read_events(events)])]

    begins, ends = json.dumps({f"{topic}/0": 3}), json.dumps({"0": 5, "1": 1})
    assert offsets("--from", begins, "--to", ends) == [(0, 3), (0, 4), (1, 0)]
    assert offsets("--from", "2001-01-01") == [(one.partition, one.offset) for one in there]
    assert offsets("--to", "2001-01-01") == []


@pytest.mark.parametrize(
    ("range_", "sentence"),
    [
        (("--from", "soon"), "is not an instant"),
        (("--from", '{"other/0": 1}'), "reads no lane 'other/0'"),
        (("--from", '{"0": -1}'), "give offsets by lane"),
        (("--to", '{"0": 99}'), "ends before offset 14"),
    ],
)
def test_a_range_that_cannot_be_is_refused(
    range_: tuple[str, str], sentence: str, kafka_broker: str, pipeline: Path, tmp_path: Path
) -> None:
    output = tmp_path / "events.jsonl"
    words = ["record", str(pipeline), "--output", str(output), "--bootstrap", kafka_broker, *range_]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 2
    assert sentence in " ".join(done.output.replace("│", " ").split())
    assert not output.exists()
