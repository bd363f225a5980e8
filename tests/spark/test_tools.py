"""Tools over real topics: heartbeats, punctuations, recordings, and files of events."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import uuid
from pathlib import Path
from threading import Event

import pytest
from typer.testing import CliRunner

from chaos.readers.log import LogRecord, read_events
from chaos.readers.topic import read_topic
from jobs.brokers.producing import send_all
from jobs.brokers.topics import create_topic
from jobs.tools.heartbeat import delays_of, emit, watching
from slackwater.main import app
from tests.unit.jobs.tools.test_recording import HEARTBEATS, PUNCTUATED, TEXT
from tests.unit.jobs.tools.test_recording import pipeline as with_heartbeats
from windowing.model import load_pipeline, parse_pipeline


def test_silent_partitions_of_a_topic_get_bounds(kafka_broker: str) -> None:
    topic = f"t{uuid.uuid4().hex[:8]}"
    create_topic(kafka_broker, topic, 3)
    end = '{"end":true}'
    send_all(kafka_broker, topic, [(0, b'{"ts":7}', None), (0, b"bad", None), (2, b"", end)])
    spec = with_heartbeats(topic)
    beats = []
    written = emit(
        spec,
        kafka_broker,
        delays_of(spec, None),
        silent_us=10**12,
        every_s=None,
        stop=Event(),
        on_beat=beats.append,
    )
    assert written == 1
    assert [beat.lane for beat in beats] == [1]
    log = [(e.partition, e.value, e.control) for e in read_topic(kafka_broker, topic)]
    (beat,) = [control for lane, _, control in log if lane == 1]
    assert beat is not None
    assert json.loads(beat).keys() == {"now", "seen"}
    assert json.loads(beat)["seen"] == {f"{topic}/0": 7}
    assert len(log) == 4


def test_records_are_seen_as_the_job_reads_them(kafka_broker: str) -> None:
    """Times by the broker's record, and a rule: a partition that is not silent gets no bound."""
    topic = f"t{uuid.uuid4().hex[:8]}"
    create_topic(kafka_broker, topic, 2)
    spec = parse_pipeline(
        f"""
name: seen
source: {{topic: {topic}, partitions: 2, format: json, event_time: {{expr: $timestamp}},
  fields: {{v: int}}, rules: [{{name: positive, check: v > 0}}], disorder: ordered}}
queries:
  q: {{window: RANGE 1 s SLIDE 1 s WATTR event_time, aggregates: {{n: count}}}}
"""
    )
    send_all(kafka_broker, topic, [(0, b'{"v":1}', None), (1, b'{"v":0}', None)])
    with watching(spec, kafka_broker) as watch:
        watch.catch_up()
        assert watch.seen.newest_us.keys() == {0}
        assert watch.seen.newest_us == watch.seen.heard_us


def test_the_command_ends_by_sigterm(kafka_broker: str, tmp_path: Path) -> None:
    topic = f"t{uuid.uuid4().hex[:8]}"
    create_topic(kafka_broker, topic, 3)
    file = tmp_path / "p.yml"
    file.write_text(HEARTBEATS.format(topic=topic, disorder="ordered"))
    options = ["--every", "200 ms", "--max-delay", "1 s", "--bootstrap", kafka_broker]
    process = subprocess.Popen(
        [sys.executable, "-m", "slackwater.main", "heartbeat", str(file), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(6)]
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    assert "bounds written" in said
    assert lines[0].startswith(f"{topic}/0: silent always; nothing below 2")
    bounds = [
        json.loads(e.control)["bound"]
        for e in read_topic(kafka_broker, topic)
        if e.partition == 0 and e.control is not None
    ]
    assert len(bounds) >= 2
    assert bounds == sorted(set(bounds))


def test_the_command_over_topics(kafka_broker: str, tmp_path: Path) -> None:
    topic, to = f"t{uuid.uuid4().hex[:8]}", f"t{uuid.uuid4().hex[:8]}"
    create_topic(kafka_broker, topic, 2)
    values = [(0, b'{"ts":1,"g":"a"}'), (0, b'{"ts":12,"g":"a"}'), (1, b"\xff"), (1, None)]
    send_all(kafka_broker, topic, [(lane, value, None) for lane, value in values])
    file = tmp_path / "p.yml"
    file.write_text(PUNCTUATED.format(topic=topic))
    arguments = ["punctuate", str(file), "--topic", "--to", to, "--bootstrap", kafka_broker]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    found = [(e.partition, e.value, e.control) for e in read_topic(kafka_broker, to)]
    assert sorted(found, key=lambda e: e[0]) == [
        (0, values[0][1], None),
        (0, None, b'{"bound":10000000}'),
        (0, values[1][1], None),
        (0, None, b'{"bound":20000000}'),
        (1, b"\xff", None),
        (1, None, None),
    ]
    again = CliRunner().invoke(app, arguments)
    assert again.exit_code != 0
    assert "holds records already" in str(again.exception)


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


TEMPLATE = Path(__file__).parents[2] / "slackwater" / "template"


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
    assert f"topic {topic!r} holds other records than the file: {topic}/1 ends at" in said
    assert "slackwater record FILE --output" in said


def content(record: LogRecord) -> tuple[int, int, bytes, bytes]:
    return record.partition, record.offset, record.value or b"", record.control or b""
