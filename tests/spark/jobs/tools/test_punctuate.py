"""Punctuations of a recording are true, and could not stand one record earlier."""

import uuid
from pathlib import Path

from typer.testing import CliRunner

from chaos.readers.topic import read_topic
from jobs.brokers.producing import send_all
from jobs.brokers.topics import create_topic
from slackwater.main import app
from tests.unit.jobs.tools.test_punctuate import TEXT


def test_the_command_over_topics(kafka_broker: str, tmp_path: Path) -> None:
    topic, to = f"t{uuid.uuid4().hex[:8]}", f"t{uuid.uuid4().hex[:8]}"
    create_topic(kafka_broker, topic, 2)
    values = [(0, b'{"ts":1,"g":"a"}'), (0, b'{"ts":12,"g":"a"}'), (1, b"\xff"), (1, None)]
    send_all(kafka_broker, topic, [(lane, value, None) for lane, value in values])
    file = tmp_path / "p.yml"
    file.write_text(TEXT.format(topic=topic))
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
