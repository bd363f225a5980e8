"""Plain rows: JSON lines and Parquet as the log of one lane, exactly."""

import datetime as dt
import json
import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaos.readers.log import EventsFileError
from chaos.readers.parquet import parquet_values
from chaos.readers.plain_rows import read_input
from windowing.model import parse_pipeline
from windowing.model.source import Source


def source(unit: str = "us", fields: str = "{i: int, s: string}") -> Source:
    return parse_pipeline(f"""
name: plain
source:
  topic: t
  partitions: 2
  format: json
  event_time: {{field: ts, unit: {unit}}}
  fields: {fields}
  disorder: ordered
queries: {{q: {{window: RANGE 10 s SLIDE 10 s WATTR ts, aggregates: {{n: count}}}}}}
""").source


def values_of(folder: Path, table: pa.Table, unit: str = "us", **options: Any) -> list[bytes]:
    pq.write_table(table, folder / "rows.parquet", **options)
    return [*parquet_values(folder / "rows.parquet", source(unit))]


def test_each_line_is_a_value_of_one_lane(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_bytes(b'{"ts": 1}\r\n\n  \n not JSON \xff\n{"ts": 1.0}')
    found = [(r.source, r.partition, r.offset, r.value) for r in read_input(file, source(), "t")]
    assert found == [
        ("t", 0, 0, b'{"ts": 1}'),
        ("t", 0, 1, b"not JSON \xff"),
        ("t", 0, 2, b'{"ts": 1.0}'),
    ]


@pytest.mark.parametrize(
    ("name", "content", "topic", "said"),
    [
        ("r.jsonl", b'{"ts": 1}', None, "say whose they are, as --as t"),
        ("r.parquet", b"", None, "say whose they are, as --as t"),
        ("r.jsonl", b'{"ts": 1}', "u", "--as u: the pipeline reads no such topic"),
        ("r.csv", b"ts\n1\n", "t", "rows of CSV are not read yet"),
        ("r.csv", b"ts\n1\n", None, "rows of CSV are not read yet"),
        ("r.jsonl", b"\xef\xbb\xbf{}", "t", "byte order mark"),
        ("r.parquet", b"PAR1 is no file", "t", "cannot be read as Parquet"),
        ("gone.parquet", None, "t", "gone.parquet: No such file"),
        ("gone.jsonl", None, "t", "gone.jsonl: No such file"),
    ],
)
def test_what_cannot_be_read_is_named(
    tmp_path: Path, name: str, content: bytes | None, topic: str | None, said: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(EventsFileError, match=said.replace("(", r"\(")) as raised:
        list(read_input(tmp_path / name, source(), topic))
    assert raised.value.exit_code == 2


def test_values_that_json_has_are_the_same(tmp_path: Path) -> None:
    table = pa.table(
        {
            "i": pa.array([2**63 - 1, None], pa.int64()),
            "u": pa.array([2**64 - 1, 0], pa.uint64()),
            "b": pa.array([True, None]),
            "s": pa.array(['ä"\n', None]),
            "f": pa.array([0.1, math.nan]),
            "f32": pa.array([0.1, math.inf], pa.float32()),
            "d": pa.array([Decimal("12.30"), None], pa.decimal128(38, 2)),
            "wide": pa.array([Decimal("7" * 60), None], pa.decimal256(76, 0)),
            "day": pa.array([dt.date(2024, 3, 1), None]),
            "time": pa.array([dt.time(12, 30), None]),
            "coded": pa.array(["a", "a"]).dictionary_encode(),
            "bytes": pa.array([b"\xff\x00", b""]),
            "a.b": pa.array([1, 2]),
            "of": pa.array([{"l": [{"x": Decimal("1.50"), "y": math.nan}, None]}, None]),
            "m": pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int32())),
            "pairs": pa.array([[(1, 0.5)], []], pa.map_(pa.int32(), pa.float64())),
        }
    )
    first, second = values_of(tmp_path, table)
    assert first.decode() == (
        '{"i":9223372036854775807,"u":18446744073709551615,"b":true,"s":"ä\\"\\n","f":0.1,'
        '"f32":0.10000000149011612,"d":12.30,"wide":' + "7" * 60 + ',"day":"2024-03-01",'
        '"time":"12:30:00.000000","coded":"a","bytes":"/wA=","a.b":1,'
        '"of":{"l":[{"x":1.50,"y":"nan"},null]},"m":{"k":1},"pairs":[{"key":1,"value":0.5}]}'
    )
    assert json.loads(second) == {
        **dict.fromkeys(["i", "b", "s", "d", "wide", "day", "time", "of", "m"]),
        **{"u": 0, "f": "nan", "f32": "inf", "coded": "a", "bytes": "", "a.b": 2, "pairs": []},
    }


PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


@settings(max_examples=60)
@given(
    st.sampled_from([*PER_SECOND]),
    st.sampled_from(["us", "ms", "s"]),
    st.integers(-(9 * 10**15), 9 * 10**15) | st.integers(-2000, 2000),
)
def test_times_are_exact_in_each_unit(
    tmp_path_factory: pytest.TempPathFactory, has: str, wants: str, value: int
) -> None:
    folder = tmp_path_factory.mktemp("times")
    exact = Fraction(value, PER_SECOND[has])
    times = pa.array([value], pa.timestamp(has))
    table = pa.table(
        {"ts": times, "i": times, "s": times, "l": pa.array([[value]], pa.list_(times.type))}
    )
    (line,) = values_of(folder, table, wants)
    found = json.loads(line, parse_float=Fraction)
    assert Fraction(found["ts"]) / PER_SECOND[wants] == exact
    assert Fraction(found["l"][0]) / PER_SECOND[wants] == exact
    assert Fraction(found["i"]) / 10**6 == exact
    if isinstance(found["s"], str):
        moment, _, digits = found["s"].removesuffix("Z").partition(".")
        whole = dt.datetime.fromisoformat(moment) - dt.datetime(1970, 1, 1)  # noqa: DTZ001 - UTC
        seconds = Fraction(whole // dt.timedelta(seconds=1))
        assert seconds + Fraction(int(digits or 0), 10 ** len(digits)) == exact
        assert not digits.endswith("0")
    else:
        assert not -62135596800 <= exact < 253402300800


def test_an_event_time_has_its_unit_whatever_its_field_is_declared(tmp_path: Path) -> None:
    pq.write_table(pa.table({"ts": pa.array([5], pa.timestamp("s"))}), tmp_path / "rows.parquet")
    for kind in ("int", "string"):
        declared = source("ms", f"{{ts: {kind}}}")
        assert [*parquet_values(tmp_path / "rows.parquet", declared)] == [b'{"ts":5000}']


def test_a_form_of_text_that_may_mean_two_instants_is_none_for_a_column(tmp_path: Path) -> None:
    pq.write_table(pa.table({"ts": pa.array([5], pa.timestamp("s"))}), tmp_path / "rows.parquet")
    unit = '{text: "%d.%m.%Y %H:%M", zone: Europe/Berlin}'
    with pytest.raises(EventsFileError, match="column ts has timestamps"):
        list(parquet_values(tmp_path / "rows.parquet", source(unit)))


def test_rows_come_a_batch_at_a_time(tmp_path: Path) -> None:
    table = pa.table({"ts": pa.array(range(25_000))})
    found = values_of(tmp_path, table, row_group_size=7_000)
    assert found == [b'{"ts":%d}' % number for number in range(25_000)]
