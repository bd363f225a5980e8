"""A test that was written for a log is one of that log, and passes."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaos.file_tests.reading import read_tests
from chaos.file_tests.writing import RECORDS_MAX, TooLong, written
from chaos.readers.log import LogRecord
from jobs.tools.recording import event_line
from tests.unit.chaos.file_tests.test_reading import PIPELINE
from windowing.model import parse_pipeline

WITHOUT = PIPELINE.replace("tests:\n", "")
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(
    ["control x", "null", "true", "'", '"', "\u2028", "\x85", " ", "\U0001f600", "a: b", "# c"]
)
VALUES = TEXTS | st.builds(lambda ts, k: json.dumps({"ts": ts, "k": k, "v": 1}), st.just(1), TEXTS)


@settings(max_examples=25)
@given(
    st.lists(st.tuples(VALUES, st.none() | st.integers(0, 9)), max_size=4),
    TEXTS.filter(lambda name: bool(name.strip()) and name.isprintable()),
)
def test_it_is_read_as_it_was_meant(values: list[tuple[str, int | None]], name: str) -> None:
    pipeline = parse_pipeline(WITHOUT)
    log = [
        LogRecord("t", 0, offset, value.encode(), None, append_us)
        for offset, (value, append_us) in enumerate(values)
    ]
    log += [LogRecord("t", n, len(log), None, b'{"end":true}', None) for n in range(2)]
    text = written(pipeline, name, log, map(event_line, log))
    read = parse_pipeline(WITHOUT + text)
    (test,) = read_tests(read, Path("p.yml"))
    assert test.name == name
    assert [*test.log(read)] == log
    assert {*test.expect} == {"tens", "dead_letters"}


def test_what_is_too_long_belongs_in_a_file() -> None:
    pipeline = parse_pipeline(WITHOUT)
    for log in (
        [LogRecord("t", 0, offset, b"", None, None) for offset in range(RECORDS_MAX + 1)],
        [LogRecord("t", 0, 0, b"x" * 9_000, None, None)],
    ):
        with pytest.raises(TooLong, match="leave --test out"):
            written(pipeline, "long", log, map(event_line, log))
