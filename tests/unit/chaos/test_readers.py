"""Readers of logs: every record byte for byte, and lanes in their order."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from chaos.readers.lane_order import LaneOrder
from chaos.readers.log import EnvelopeError, LogError, LogRecord, read_events
from chaos.readers.topic import committed_ends, read_topic
from slackwater.main import app
from windowing.model import parse_pipeline

HEAD = b'{"source":"m","partition":0,"offset":7,'


def read_one(path: Path, rest: bytes) -> LogRecord:
    file = path / "events.jsonl"
    file.write_bytes(HEAD + rest + b"}\n")
    (record,) = read_events(file)
    return record


# --- files -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "spelled",
    [
        b'{"x":5000.0}',
        b'{"x": 1e400, "y":123456789012345678901234567890,"z":-0.0}',
        b'{"x":1,"x":2}',
        b"null",
        b'"text"',
        b'{"k":"\\ud800"}',
        b'{"k":"\\udc00\\ud800", "n":' + b"9" * 5000 + b"}",
        b'{"x":NaN}',
        b'{"k":"\xff"}',
        b'{"k":"\xff\\ud800"}',
        b"[" * 3000 + b'"]"' + b"]" * 3000,
    ],
)
def test_a_value_keeps_its_spelling(tmp_path: Path, spelled: bytes) -> None:
    assert read_one(tmp_path, b'"value":' + spelled) == LogRecord("m", 0, 7, spelled, None, None)


@pytest.mark.parametrize(
    ("spelled", "value"),
    [
        (b'""', b""),
        (b'"{\\"a\\":\\u00e9}"', '{"a":é}'.encode()),
        (b'"\\ud800"', b"\xed\xa0\x80"),
        (b'"\\ud83d\\ude00"', "😀".encode()),
    ],
)
def test_raw_text_becomes_bytes(tmp_path: Path, spelled: bytes, value: bytes) -> None:
    assert read_one(tmp_path, b'"raw":' + spelled).value == value


def test_a_lone_surrogate_in_raw_text_is_no_utf8(tmp_path: Path) -> None:
    value = read_one(tmp_path, b'"raw":"\\udfff"').value
    assert value is not None
    with pytest.raises(UnicodeDecodeError):
        value.decode()


def test_controls_and_append_times(tmp_path: Path) -> None:
    assert read_one(tmp_path, b'"control":{"end":true},"append_us":5') == LogRecord(
        "m", 0, 7, None, b'{"end":true}', 5
    )


def members() -> st.SearchStrategy[dict[str, Any]]:
    scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
    values = st.recursive(
        scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8
    )
    return st.dictionaries(st.text(), values)


@given(members(), st.booleans(), st.booleans())
def test_any_object_survives(
    tmp_path_factory: pytest.TempPathFactory,
    value: dict[str, Any],
    only_ascii: bool,
    surrogate: bool,
) -> None:
    if surrogate:  # takes the tolerant way
        value = {**value, "lone": "\ud800"}
    spelled = json.dumps(value, ensure_ascii=only_ascii).encode("utf-8", "surrogatepass")
    folder = tmp_path_factory.mktemp("any")
    assert read_one(folder, b'"append_us":-1,"value":' + spelled).value == spelled


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"[]",
        b"nonsense",
        b'{"source":"m","partition":0,"offset":0}',
        b'{"source":"m","partition":0,"offset":0,"value":1,"raw":"x"}',
        b'{"source":"m","partition":0,"offset":0,"value":1,"control":{"end":true}}',
        b'{"source":"m","partition":0,"offset":0,"raw":1}',
        b'{"source":"m","partition":0,"offset":0,"value":1,"note":2}',
        b'{"source":"m","partition":0,"offset":0,"value":"\\ud800","note":2}',
        b'{"source":"m","partition":0,"offset":0,"value":1,"append_us":"5"}',
        b'{"source":"m","partition":0,"offset":0,"value":"\\ud800","append_us":"5"}',
        b'{"source":"m","partition":-1,"offset":0,"value":1}',
        b'{"source":"m","partition":0.0,"offset":0,"value":1}',
        b'{"source":"m","partition":true,"offset":0,"value":1}',
        b'{"source":"m","partition":0,"offset":9223372036854775808,"value":1}',
        b'{"source":1,"partition":0,"offset":0,"value":1}',
        b'{"source":"\\ud800","partition":0,"offset":0,"value":1}',
        b'{"partition":0,"offset":0,"value":1}',
        b'{"source":"m","partition":0,"offset":0,"value":{"a":1}',
        b'{"source":"m","partition":0,"offset":0,"value":{"a":1}} {}',
        b'{"source":"m","partition":0,"offset":0,"value":1,"value":"\\ud800"}',
    ],
)
def test_a_broken_envelope_names_its_line(tmp_path: Path, line: bytes) -> None:
    file = tmp_path / "events.jsonl"
    file.write_bytes(HEAD + b'"value":1}\n' + line + b"\n" + HEAD + b'"value":1}\n')
    records = read_events(file)
    next(records)
    with pytest.raises(EnvelopeError) as caught:
        next(records)
    assert caught.value.line == 2
    assert str(caught.value).startswith(f"{file}:2: ")


def test_a_missing_file_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(LogError, match=r"cannot read the events file .*nothing.*No such file"):
        next(read_events(tmp_path / "nothing"))


def test_a_dead_broker_is_one_sentence(dead_broker: str) -> None:
    says = rf"no Kafka broker answers on {dead_broker} .*slackwater up"
    with pytest.raises(LogError, match=says):
        committed_ends(dead_broker, "t")
    with pytest.raises(LogError, match=says):
        list(read_topic(dead_broker, "t"))


PIPELINE = """
name: p
source:
  topic: m
  partitions: 2
  format: json
  event_time: {field: ts, unit: us}
  fields: {v: int}
  disorder: {slack: 5 us}
queries:
  q: {window: RANGE 10 us SLIDE 10 us WATTR ts, aggregates: {n: count, all: sum(v)}}
"""


def line(partition: int, offset: int, ts: int, **more: Any) -> str:
    value = {"ts": ts, "v": offset}
    return json.dumps(
        {"source": "m", "partition": partition, "offset": offset, "value": value, **more}
    )


def written(folder: Path, lines: list[str]) -> Path:
    (folder / "p.yml").write_text(PIPELINE)
    file = folder / "events.jsonl"
    file.write_text("".join(one + "\n" for one in lines))
    return file


SOUND = [line(0, 0, 1), line(1, 4, 3), line(0, 2, 12), line(0, 5, 25), line(1, 9, 31)]
BROKEN = {
    "two neighbours of a lane changed places": (
        [SOUND[0], SOUND[1], SOUND[3], SOUND[2], SOUND[4]],
        "4: offset 2 of m/0 comes after 5, and was not seen before",
    ),
    "the file is reversed": (SOUND[::-1], "3: offset 2 of m/0 comes after 5"),
    "an offset stands for two records": (
        [*SOUND, line(0, 5, 26)],
        "6: offset 5 of m/0 was seen before with another value, control, append_us or metadata",
    ),
    "an offset has two append times": (
        [*SOUND, line(0, 5, 25, append_us=7)],
        "6: offset 5 of m/0 was seen before with another",
    ),
    "two lines changed places in a far part": (
        [*(line(0, offset, offset) for offset in (0, 1, 3, 2))],
        "4: offset 2 of m/0 comes after 3",
    ),
    "a lane is not the pipeline's": (
        [SOUND[0], line(2, 0, 1)],
        "2: m/2 is a partition that the pipeline does not declare",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("command", ["run", "run by ones", "verify", "tune", "punctuate", "trace"])
def test_whoever_reads_a_file_says_which_line_contradicts(
    tmp_path: Path, name: str, command: str
) -> None:
    lines, said = BROKEN[name]
    file = written(tmp_path, lines)
    (tmp_path / "rows.jsonl").touch()
    (tmp_path / "rows.dead.jsonl").touch()
    more = {
        "run": ["--output", str(tmp_path / "out.jsonl")],
        "run by ones": ["--output", str(tmp_path / "out.jsonl"), "--batch-rows", "1"],
        "verify": ["--output", str(tmp_path / "rows.jsonl")],
        "tune": [],
        "punctuate": ["--output", str(tmp_path / "out.jsonl")],
        "trace": [],
    }[command]
    arguments = [command.split(maxsplit=1)[0], str(tmp_path / "p.yml"), "--input", str(file), *more]
    found = CliRunner().invoke(app, arguments)
    assert isinstance(found.exception, EnvelopeError)
    assert found.exception.exit_code == 2
    assert f"{file}:{said}" in str(found.exception)
    assert not (tmp_path / "out.jsonl").exists()


def test_a_true_redelivery_has_no_effect(tmp_path: Path) -> None:
    outputs = set()
    spaced = '{"offset":2 , "value":{"ts": 12, "v": 2}, "partition" : 0, "s\\u006furce":"m"}'
    assert json.loads(spaced) == json.loads(SOUND[2])
    twice = [*SOUND[:4], SOUND[0], spaced, SOUND[3], SOUND[4], SOUND[1]]
    for lines in (SOUND, twice):
        file = written(tmp_path, lines)
        for rows in ("1", "2", "3", "100"):
            out = tmp_path / "out.jsonl"
            ran = CliRunner().invoke(
                app,
                [
                    *("run", str(tmp_path / "p.yml"), "--input", str(file)),
                    *("--output", str(out), "--batch-rows", rows),
                ],
            )
            assert ran.exit_code == 0, ran.output
            outputs.add((out.read_bytes(), (tmp_path / "out.dead.jsonl").read_bytes(), ran.stdout))
    assert len(outputs) == 1


def test_tools_see_a_redelivered_record_once(tmp_path: Path) -> None:
    said = set()
    for number, lines in enumerate((SOUND, [*SOUND[:3], SOUND[0], *SOUND[3:], SOUND[2]])):
        file, out = written(tmp_path, lines), tmp_path / f"out-{number}.jsonl"
        log = ["--input", str(file)]
        tuned = CliRunner().invoke(app, ["tune", str(tmp_path / "p.yml"), *log])
        assert tuned.exit_code == 0, tuned.output
        made = CliRunner().invoke(
            app, ["punctuate", str(tmp_path / "p.yml"), *log, "--output", str(out), "--end"]
        )
        assert made.exit_code == 0, made.output
        said.add((tuned.stdout, out.read_text()))
    assert len(said) == 1


def test_a_trace_shows_what_came_again(tmp_path: Path) -> None:
    file = written(tmp_path, [SOUND[0], SOUND[0]])
    found = CliRunner().invoke(app, ["trace", str(tmp_path / "p.yml"), "--input", str(file)])
    assert [json.loads(one)["kind"] for one in found.stdout.splitlines()] == ["record", "again"]


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 6), st.integers(0, 1)), max_size=20))
def test_what_is_remembered_is_the_rule(places: list[tuple[int, int, int]]) -> None:
    order = LaneOrder()
    seen: dict[tuple[int, int], int] = {}
    for partition, offset, value in places:
        record = LogRecord("m", partition, offset, b"%d" % value, None, None)
        known = seen.get((partition, offset))
        lane = [other for own, other in seen if own == partition]
        if known is None and lane and offset < max(lane):
            with pytest.raises(ValueError, match="was not seen before"):
                order.is_new(record)
        elif known is not None and known != value:
            with pytest.raises(ValueError, match="with another value"):
                order.is_new(record)
        else:
            assert order.is_new(record) == (known is None)
            seen[partition, offset] = value


@given(st.integers(0, 2**32), st.integers(1, 5))
def test_lanes_may_interleave_as_they_like(
    tmp_path_factory: pytest.TempPathFactory, seed: int, lanes: int
) -> None:
    rng = random.Random(seed)
    places = [(lane, offset) for lane in range(lanes) for offset in range(4)]
    turns = [lane for lane, _ in places]
    rng.shuffle(turns)
    left = {lane: iter(range(4)) for lane in range(lanes)}
    lines = [line(lane, next(left[lane]), 1) for lane in turns]
    file = written(tmp_path_factory.mktemp("lanes"), lines)
    assert [record.partition for record in read_events(file)] == turns
    source = parse_pipeline(PIPELINE).source
    if lanes <= source.partitions:
        assert len(list(read_events(file, source))) == len(places)
