"""The independent reader returns every record byte for byte."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaos.readers.log import EnvelopeError, LogError, LogRecord, read_events
from chaos.readers.topic import committed_ends, read_topic

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
