"""Tests of a pipeline file: what they may say, and every mistake with its line and its field."""

from pathlib import Path

import pytest

from chaos.file_tests.reading import given_record, read_tests
from chaos.readers.log import LogRecord
from windowing.model import PipelineError, parse_pipeline

PIPELINE = """
name: small
source:
  topic: t
  partitions: 2
  format: json
  event_time: {field: ts, unit: us}
  fields: {k: string, v: int}
  disorder: ordered
queries:
  tens:
    window: RANGE 10 us SLIDE 10 us WATTR ts
    group_by: [k]
    aggregates: {n: count, all: sum(v)}
tests:
"""


def mistakes(tests: str, folder: Path) -> list[tuple[int, str, str]]:
    """Line, field and message of each mistake; lines count from the first one of the tests."""
    with pytest.raises(PipelineError) as raised:
        read_tests(parse_pipeline(PIPELINE + tests, "p.yml"), folder / "p.yml")
    above = PIPELINE.count("\n")
    return [(one.line - above, one.field, one.message) for one in raised.value.problems]


@pytest.mark.parametrize(
    ("line", "record"),
    [
        ('t/0 7 {"ts": 1}', LogRecord("t", 0, 7, b'{"ts": 1}', None, None)),
        ("t/0 7  nothing but text ", LogRecord("t", 0, 7, b" nothing but text ", None, None)),
        ("t/0 7 ", LogRecord("t", 0, 7, b"", None, None)),
        ('t/1 0 control {"end": true}', LogRecord("t", 1, 0, None, b'{"end": true}', None)),
        (
            '{"source": "t", "partition": 0, "offset": 7, "raw": "control x", "append_us": 5}',
            LogRecord("t", 0, 7, b"control x", None, 5),
        ),
    ],
)
def test_a_line_says_lane_offset_and_content(line: str, record: LogRecord) -> None:
    assert given_record(line) == record


@pytest.mark.parametrize("line", ["", "t 0 {}", "t/0 {}", "t/0 x {}", "t/0 0", '{"ts": 1}'])
def test_other_lines_are_refused(line: str) -> None:
    with pytest.raises(ValueError, match=r"is no record: write lane, offset|a name|exactly|Object"):
        given_record(line)


def test_a_test_has_its_line_and_its_log(tmp_path: Path) -> None:
    (tmp_path / "e.jsonl").write_text('{"source":"t","partition":1,"offset":3,"value":{}}\n')
    pipeline = parse_pipeline(
        PIPELINE + "  one: {given: [t/0 0 x, t/0 0 x], expect: {tens: []}}\n"
        "  two: {file: e.jsonl, expect: {dead_letters: []}}\n"
    )
    one, two = read_tests(pipeline, tmp_path / "p.yml")
    above = PIPELINE.count("\n")
    assert [(test.name, test.line - above) for test in (one, two)] == [("one", 1), ("two", 2)]
    assert [record.offset for record in one.log(pipeline)] == [0, 0]
    assert [record.offset for record in two.log(pipeline)] == [3]


@pytest.mark.parametrize(
    ("test", "line", "field", "said"),
    [
        ("given: ['u/0 0 x']\n    expect: {tens: []}", 2, "given.0", "the pipeline reads t/0 to"),
        ("given: ['t/9 0 x']\n    expect: {tens: []}", 2, "given.0", "there is no lane t/9: the"),
        ("given: ['t/0 3 x', 't/0 1 x']\n    expect: {tens: []}", 2, "given.1", "comes after 3"),
        ("given: ['t/0 x']\n    expect: {tens: []}", 2, "given.0", "is no record"),
        ("file: gone.jsonl\n    expect: {tens: []}", 2, "file", "there is no file"),
        ("given: []\n    expect: {tans: []}", 3, "expect.tans", "did you mean 'tens'?"),
        ("given: []\n    expect:\n      tens: 3", 4, "expect.tens", "3 is no list of rows"),
        ("given: []\n    expect: {filtered: 1}", 3, "expect.filtered", "counts records as"),
        (
            "given: []\n    expect:\n      tens:\n      - {values: {m: 1}}",
            5,
            "expect.tens.0.values.m",
            "tens shows no 'm'",
        ),
        ("given: []\n    expect: {tens: [{key: []}]}", 3, "expect.tens.0.key", "it has k"),
        (
            "given: []\n    expect: {tens: [{window_start: 1970-01-02, window_end: 10}]}",
            3,
            "expect.tens.0.window_end",
            "10 lies before window_start, 86400000000",
        ),
        (
            "given: []\n    expect: {tens: [{offsets: {t/2: [0, 1]}}]}",
            3,
            "expect.tens.0.offsets.t/2",
            "no lane 't/2'",
        ),
        (
            "given: []\n    expect: {dead_letters: [{source: u}]}",
            3,
            "expect.dead_letters.0.source",
            "no topic 'u'",
        ),
        # These the file itself is asked for.
        ("expect: {tens: []}", 1, "", "a test has one log"),
        ("given: []\n    expect: {}", 1, "", "expect is empty"),
        (
            "given: []\n    expect: {tens: [{record: 1}]}",
            3,
            "expect.tens.0.record",
            "did you mean 'records'?",
        ),
        (
            "given: []\n    expect: {dead_letters: [{ofset: 1}]}",
            3,
            "expect.dead_letters.0.ofset",
            "did you mean 'offset'?",
        ),
    ],
)
def test_each_mistake_has_its_place(
    tmp_path: Path, test: str, line: int, field: str, said: str
) -> None:
    (found,) = mistakes(f"  it:\n    {test}\n", tmp_path)
    place = f"tests.it.{field}" if field else "tests.it"
    assert found[:2] == (line, place)
    assert said in found[2]


def test_tests_change_no_meaning() -> None:
    with_tests = parse_pipeline(PIPELINE + "  one: {given: [], expect: {tens: []}}\n")
    without = parse_pipeline(PIPELINE.replace("tests:\n", ""))
    assert with_tests.fingerprint == without.fingerprint


def test_times_of_yaml_are_those_of_rows() -> None:
    pipeline = parse_pipeline(
        PIPELINE + "  one:\n    given: []\n    expect:\n      tens:\n"
        "      - {window_start: 1970-01-01T00:00:01Z, window_end: '1970-01-02',\n"
        "         key: [1970-01-03]}\n"
    )
    (row,) = pipeline.tests["one"].expect["tens"]  # type: ignore[misc]
    assert row.named == {
        "window_start": 1_000_000,
        "window_end": 86_400_000_000,
        "key": ["1970-01-03"],
    }
