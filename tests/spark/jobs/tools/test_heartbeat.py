"""Heartbeats say what the definition concludes from them, in silent partitions only."""

import json
import signal
import subprocess
import sys
import uuid
from pathlib import Path
from threading import Event

from chaos.readers.topic import read_topic
from jobs.brokers.producing import send_all
from jobs.brokers.topics import create_topic
from jobs.tools.heartbeat import delays_of, emit
from tests.unit.jobs.tools.test_heartbeat import TEXT, pipeline


def test_silent_partitions_of_a_topic_get_bounds(kafka_broker: str) -> None:
    topic = f"t{uuid.uuid4().hex[:8]}"
    create_topic(kafka_broker, topic, 3)
    end = '{"end":true}'
    send_all(kafka_broker, topic, [(0, b'{"ts":7}', None), (0, b"bad", None), (2, b"", end)])
    spec = pipeline(topic)
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
    assert [beat.partition for beat in beats] == [1]
    log = [(e.partition, e.value, e.control) for e in read_topic(kafka_broker, topic)]
    (beat,) = [control for lane, _, control in log if lane == 1]
    assert beat is not None
    assert json.loads(beat).keys() == {"now", "seen"}
    assert json.loads(beat)["seen"] == {f"{topic}/0": 7}
    assert len(log) == 4


def test_the_command_ends_by_sigterm(kafka_broker: str, tmp_path: Path) -> None:
    topic = f"t{uuid.uuid4().hex[:8]}"
    create_topic(kafka_broker, topic, 3)
    file = tmp_path / "p.yml"
    file.write_text(TEXT.format(topic=topic, disorder="ordered"))
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
