"""A topic as a file: what `run` makes of the recording is what the topic means."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from chaos.readers.envelope import read_line
from jobs.tools.recording import Event, event_line
from slackwater.main import app
from windowing.engine.reading.objects import BadValue, parse_object

TEXT = """
name: p
source:
  topic: {topic}
  partitions: 2
  format: json
  event_time: {{field: ts, unit: s}}
  fields: {{g: "string?", v: float}}
  disorder: ordered
late: {{policy: update, every: 20 s}}
retention: 1 day
queries:
  q: {{window: RANGE 20 s SLIDE 10 s WATTR ts, group_by: [g], aggregates: {{n: count, s: sum(v)}}}}
"""


BYTES_IN_TEXTS = st.one_of(
    st.binary(max_size=12),
    st.text(max_size=6).map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.binary(max_size=4).map(lambda part: b'{"k":"' + part + b'"}'),
)


@given(BYTES_IN_TEXTS)
def test_a_value_keeps_its_bytes_where_a_line_can_hold_them(value: bytes) -> None:
    """A line is text, so bytes that are none, and no JSON around such, stand for themselves."""
    line = event_line(Event("t", 0, 0, value, None, None))
    assert b"\n" not in line
    kept = read_line(line).value
    assert kept is not None
    if kept != value:
        with pytest.raises(UnicodeDecodeError):
            value.decode("utf-8", "surrogatepass")
        for bad in (kept, value):
            with pytest.raises(BadValue, match="malformed"):
                parse_object(bad)


def test_a_file_that_is_there_is_not_replaced(tmp_path: Path) -> None:
    file, output = tmp_path / "p.yml", tmp_path / "events.jsonl"
    file.write_text(TEXT.format(topic="t"), encoding="utf-8")
    output.write_text("mine", encoding="utf-8")
    done = CliRunner().invoke(app, ["record", str(file), "--output", str(output)])
    assert done.exit_code == 2
    assert "is there already" in " ".join(done.output.replace("│", " ").split())
    assert output.read_text(encoding="utf-8") == "mine"
