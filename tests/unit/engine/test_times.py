"""Times as people write them: the contract's sentences, and engine and definition alike."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from windowing.engine.reading.objects import parse_object
from windowing.engine.reading.times import time_us
from windowing.model.times import Spelling, TextTimes, parse_unit
from windowing.model.zones import installed_zone
from windowing.semantics.json_objects import parse_object as definition_of_object
from windowing.semantics.times import read_time

BERLIN = {"text": "%d.%m.%Y %H:%M:%S", "zone": "Europe/Berlin"}
NOON_US = 1_709_294_400_000_000  # 2024-03-01 12:00 UTC

_LEGAL = [
    ("iso", '"2024-03-01 12:00:00"', 0),
    ("iso", '"2024-03-01t12:00:00z"', 0),
    ("iso", '"2024-03-01T12:00"', 0),
    ("iso", '"2024-03-01 13:30+0130"', 0),
    ("iso", '"2024-03-01T05:00:00-07"', 0),
    ("iso", '"2024-03-01T12:00:00.000001999999Z"', 1),
    ("iso", '"2024-03-01T12:00:00.1"', 100_000),
    ("ns", "1709294400000000999", 0),
    ("ns", "1709294399999999999", -1),
    ("s", "1709294400", 0),
    ("s+", "1709294400", 0),
    ("s+", "1709294400.1234567", 123_456),
    ("s+", "17092944.000000001e2", 0),
    ("s+", "1709294399.9999999999999999999999999", -1),
    ("ms+", "1709294400000.0009", 0),
    ("us+", "1709294399999999.5", -1),
    (BERLIN, '"01.03.2024 13:00:00"', 0),
    (BERLIN, '"1.3.2024 13:0:0"', 0),
    ({"text": "%b %d, %y %I:%M %p"}, '"Mar 01, 24 12:00 pm"', 0),
    ({"text": "%A %d %B %Y %H:%M:%S.%f"}, '"Friday 01 march 2024 12:00:00.5"', 500_000),
    ({"text": "%Y-%m-%d %H:%M%z"}, '"2024-03-01 14:00+02:00"', 0),
    ({"text": "%Y/%m/%d %H %%"}, '"2024/03/01 12 %"', 0),
]
_ILLEGAL = [
    *(("iso", json.dumps(text)) for text in (
        "20240301T120000Z", "2024-03-01T12:00:00,5Z", "2024-03-01", "2024-03-01T12:00:60Z",
        "2024-03-01T24:00:00Z", "2024-03-01T12:00:00Z ", "2024-03-01T12:00:00 Europe/Berlin",
        "2024-03-01T12:00:00.1234567890123Z", "2024-03-01T12:00.5Z", "2024-03-01T12:00:00.Z",
        "2024-03-01T12:00:00+24:00", "2024-03-01T12:00:00+01:60", "2024-03-01T12:00:00+1",
        "2024-03-01T12", "2024-02-30T12:00:00Z", "0000-03-01T12:00:00Z", "٢٠24-03-01T12:00:00",
    )),
    ("iso", "1709294400"),
    ("ns", "1.0"),
    ("ns", "true"),
    ("s", "1709294400.0"),
    ("s", "1e9"),
    ("s+", '"1709294400"'),
    ("s+", "true"),
    (BERLIN, '"31.03.2024 02:30:00"'),
    (BERLIN, '"01.03.2024 13:00:00 "'),
    (BERLIN, '"01.03.2024 13:00:60"'),
    (BERLIN, '"30.02.2024 13:00:00"'),
    (BERLIN, '"01.03.2024\\u00a013:00:00"'),
    (BERLIN, '"01.03.0000 13:00:00"'),
    ({"text": "%Y-%m-%d %H:%M%z"}, '"2024-03-01 14:00+24:00"'),
]  # fmt: skip


def spelling(written: Any) -> Spelling:
    if isinstance(written, str) and written.endswith("+"):
        return Spelling(parse_unit(written[:-1]), fraction=True)
    return Spelling(parse_unit(written))


def read_both(written: Any, value: str) -> tuple[int | None, int | None]:
    own, raw = spelling(written), f'{{"t":{value}}}'.encode()
    definition = definition_of_object(raw, exact=own.fraction)
    assert definition is not None
    return (
        time_us(parse_object(raw, exact=own.fraction)["t"], own),
        read_time(own, definition["t"]),
    )


@pytest.mark.parametrize(("unit", "value", "after_us"), _LEGAL)
def test_a_time_may_be_written_so(unit: Any, value: str, after_us: int) -> None:
    assert read_both(unit, value) == (NOON_US + after_us,) * 2


@pytest.mark.parametrize(("unit", "value"), _ILLEGAL)
def test_a_time_may_not_be_written_so(unit: Any, value: str) -> None:
    assert read_both(unit, value) == (None, None)


def test_a_local_time_that_comes_twice_is_the_first() -> None:
    summer = datetime(2024, 10, 27, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"))
    assert read_both(BERLIN, '"27.10.2024 02:30:00"') == (int(summer.timestamp()) * 10**6,) * 2


@pytest.mark.parametrize("value", ["1e999999999999999999999", "1E400", "-123e77", "9" * 500])
def test_a_number_far_out_is_a_time_out_of_range(value: str) -> None:
    found = read_both("s+", value)
    assert all(us is not None and abs(us) > 2**64 for us in found)
    assert read_both("s+", "-1e-999999999999999999999") == (-1, -1)
    assert read_both("ms+", "1e-400") == (0, 0)


_DIGITS = st.text("0123456789", min_size=1, max_size=24)


@given(
    unit=st.sampled_from(["s+", "ms+", "us+"]),
    sign=st.sampled_from(["", "-"]),
    whole=st.integers(0, 10**19).map(str),
    fraction=_DIGITS | st.none(),
    exponent=st.integers(-30, 30) | st.none(),
)
@example(unit="s+", sign="-", whole="0", fraction="0000000", exponent=None)
def test_numbers_are_exact_and_rounded_towards_the_past(
    unit: str, sign: str, whole: str, fraction: str | None, exponent: int | None
) -> None:
    value = sign + whole + ("" if fraction is None else f".{fraction}")
    value += "" if exponent is None else f"e{exponent}"
    one, other = read_both(unit, value)
    assert one == other is not None


_ISO_PARTS = [
    ["2024", "0001", "9999", "1969"], ["-", ""], ["03", "13"], ["-"], ["01", "31"],
    ["T", "t", " ", "  "], ["12", "24"], [":", ""], ["00", "60"], ["", ":59", ":60", "59"],
    ["", ".1", ".123456789012", ",5", ".1234567890123"],
    ["", "Z", "z", "+01", "-0130", "+01:30", "+24:00", "+01:60", " UTC", "+1"], ["", " "],
]  # fmt: skip


@given(st.tuples(*map(st.sampled_from, _ISO_PARTS)).map("".join))
def test_iso_times_are_read_alike(text: str) -> None:
    one, other = read_both("iso", json.dumps(text))
    assert one == other


_FORMATS = [
    "%d.%m.%Y %H:%M:%S", "%Y%m%d%H%M%S", "%m%d%Y", "%y-%b-%d %I:%M:%S.%f %p", "%a %d %B %Y %z",
    "%d%m%Y%z", "%Y年%m月%d日", "%d\t %m %Y", "%A, %B %d %Y%%",
]  # fmt: skip
_ZONES = ["UTC", "Europe/Berlin", "America/St_Johns", "Asia/Kathmandu", "Australia/Lord_Howe"]


_OFFSETS = ["Z", "+0100", "-01:30", "+01:00:30.5", "+0100:30", "z", "+25:00"]
_CHANGES = [datetime(2024, 3, 31, 2), datetime(2024, 10, 27, 2)]  # noqa: DTZ001 - of clocks
_NEAR_CHANGES = st.builds(
    lambda change, minutes: change + timedelta(minutes=minutes),
    st.sampled_from(_CHANGES),
    st.integers(-90, 90),
)


@st.composite
def written_texts(draw: st.DrawFn) -> tuple[TextTimes, str]:
    format_ = draw(st.sampled_from(_FORMATS))
    times = TextTimes(
        format_, installed_zone("UTC" if "%z" in format_ else draw(st.sampled_from(_ZONES)))
    )
    moment = draw(st.datetimes() | _NEAR_CHANGES)
    offset = draw(st.sampled_from(_OFFSETS))
    text = moment.strftime(format_.replace("%z", "OFFSET").replace("%Y", f"{moment.year:04}"))
    text = text.replace("OFFSET", offset)
    at = draw(st.integers(0, len(text)))
    some = draw(st.sampled_from(["", "", "", "0", " ", "\t", "\u00a0", "X", "ſ"]))
    cut = draw(st.integers(0, 1)) if some else 0
    return times, draw(st.sampled_from([str, str.upper]))(text[:at] + some + text[at + cut :])


@given(written_texts())
def test_texts_are_read_alike(written: tuple[TextTimes, str]) -> None:
    times, text = written
    own = Spelling(times)
    assert time_us(text, own) == read_time(own, text)


@pytest.mark.parametrize(
    ("unit", "words"),
    [
        ("nss", "did you mean 'ns'"),
        ({"text": "%Y-%m-%Q"}, "%Q is not a directive"),
        ({"text": "%Y-%m-%d", "zone": "Europe/Berlni"}, "did you mean 'Europe/Berlin'"),
        ({"text": "%Y-%m-%d", "zone": 1}, "1 is not a time zone"),
        ({"txt": "%Y"}, "did you mean 'text'"),
        ({"zone": "UTC"}, "text is missing"),
        ({"text": "%H:%M"}, "has no year"),
        ({"text": "%Y-%m"}, "has no day"),
        ({"text": "%Y-%m-%d%"}, "a % stands at the end"),
        ({"text": "%Y-%m-%d %y"}, "says the year twice"),
        ({"text": "%Y-%m-%d %I"}, "need each other"),
        ({"text": "%Y-%m-%d %z", "zone": "UTC"}, "leave zone out"),
    ],
)
def test_a_unit_that_is_none_says_what_is_meant(unit: Any, words: str) -> None:
    with pytest.raises(ValueError, match="^.*" + re.escape(words)):
        parse_unit(unit)
