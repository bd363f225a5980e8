"""What is said of results with fewer rows than expected, and that nothing is said of others."""

import pytest

from tests.unit.model.test_control import TEXT as WITH_CONTROL
from windowing.explain.log_notes import nothing_recorded, nothing_sent
from windowing.explain.notes import (
    DeadGroup,
    Findings,
    TimesSeen,
    notes,
    odd_progress,
    of_file,
)
from windowing.explain.ways_out import way_out
from windowing.model import Pipeline, parse_pipeline
from windowing.model.computed import CAST, OVERFLOW, SUBSTR, YEARS, ZERO
from windowing.model.fates import Counts
from windowing.model.limits import fitting_unit
from windowing.model.standing import LaneEnd, Waiting

TEXT = WITH_CONTROL.replace("CONTROL", "none").replace("python:of.the_file:Range(v)", "max(v)")
NOW_US = 1_772_442_000_000_000


def pipeline(old: str = "", new: str = "") -> Pipeline:
    return parse_pipeline(TEXT.replace(old, new, 1))


def counts(read: int, **fates: int) -> dict[str, Counts]:
    return dict.fromkeys(("w", "b"), Counts.of(read=read, **fates))


def test_nothing_is_said_of_a_healthy_result() -> None:
    spec, full = pipeline(), counts(100, applied=95, dropped=5)
    lanes = {number: LaneEnd(NOW_US) for number in range(3)}
    none = dict.fromkeys(("w", "b"), Waiting(0, 0))
    assert not notes(Findings(spec, full, {"w": 3, "b": 3}, none, lanes))
    assert not of_file(spec)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ({"counts": counts(0)}, "no record was read"),
        ({"counts": counts(20, dropped=2, applied=18)}, "w: 2 of 20 records (10%) came too late"),
        ({"counts": counts(9, outside=9)}, "w: all 9 records are in no window"),
        (
            {"counts": counts(10, dead=1, applied=9), "dead": [DeadGroup("malformed", 1)]},
            "1 of 10 records (10%) is a dead letter, 1 by malformed",
        ),
        ({"counts": counts(3, applied=3), "rows": {"b": 1}}, "w: no row for 3 records"),
        (
            {
                "counts": counts(3, applied=3),
                "waiting": {"w": Waiting(2, 5, first_end=50)},
                "lanes": {0: LaneEnd(7, ended=True), 1: LaneEnd(45), 2: LaneEnd(60)},
            },
            "w: 2 windows are open (5 rows), the first until 1970-01-01T00:00:00.000050Z: s/1 at "
            "1970-01-01T00:00:00.000045Z holds back; a record of 1970-01-01T00:00:00.000055Z",
        ),
        (
            {
                "counts": counts(3, applied=3),
                "waiting": {"w": Waiting(1, 1, first_end=50)},
                "lanes": {0: LaneEnd(45), 1: LaneEnd(7), 2: LaneEnd(50)},
            },
            "w: 1 window is open, the first until 1970-01-01T00:00:00.000050Z: s/1 at "
            "1970-01-01T00:00:00.000007Z, s/0 at 1970-01-01T00:00:00.000045Z hold back",
        ),
        (
            {"counts": counts(3, applied=3), "waiting": {"w": Waiting(0, 0, revisions=2)}},
            "w: late records wait with 2 revisions",
        ),
        (
            {
                "counts": counts(4, dead=1, applied=3),
                "dead": [DeadGroup("refused_by:m", 1, "v", "-5", "ValueError: below 0", "w")],
            },
            "w: 1 of 4 records (25%) is a dead letter, 1 by refused_by:m: v -5 (right: ValueError",
        ),
        (
            {"counts": counts(3, applied=3), "overflows": {"w": {"m": 2}}},
            "w: m is null in 2 rows, whose exact value no type takes",
        ),
        ({"times": {0: TimesSeen(5, 2, 7, 8)}}, "ts of 2 of 5 records looked at is implausible"),
    ],
)
def test_each_cause_has_its_line(found: dict[str, object], said: str) -> None:
    lines = notes(Findings(pipeline(), **found))  # type: ignore[arg-type]
    assert any(line.startswith(said) for line in lines), lines


def test_what_a_class_refuses_is_not_called_late() -> None:
    refused = [DeadGroup("refused_by:m", 2, query="w")]
    lines = notes(Findings(pipeline(), counts(4, dead=2, applied=2), dead=refused))
    assert [line for line in lines if "too late" in line] == [
        "b: 2 of 4 records (50%) came too late (dead letters); " + way_out("late")
    ]


def test_gaps_between_windows_are_said_of_the_file() -> None:
    (line,) = of_file(pipeline("SLIDE 10 us", "SLIDE 15 us"))
    assert "query w: SLIDE is longer than RANGE" in line
    assert "5 us" in line


def test_a_lane_far_off_is_named_with_the_unit_that_fits() -> None:
    (line,) = odd_progress(pipeline(), {1: LaneEnd(NOW_US // 1_000), 0: LaneEnd(NOW_US)})
    assert line.startswith("s/1 is at 1970-01-21")
    assert "the unit that fits is ms" in line


def test_nothing_sent_or_recorded_is_said() -> None:
    assert "already" in nothing_sent("t", 3, 0)[0]
    assert not nothing_sent("t", 3, 1)
    assert "no record for topic t" in nothing_sent("t", 0, 0)[0]
    assert nothing_recorded(0, is_empty_range=True) != nothing_recorded(0, is_empty_range=False)


def test_the_unit_that_fits_is_found_for_every_pair() -> None:
    written = {"s": NOW_US // 10**6, "ms": NOW_US // 1_000, "us": NOW_US, "ns": NOW_US * 1_000}
    for meant, number in written.items():
        for named in {*written} - {meant, "ns"}:
            assert fitting_unit(named, number) == meant
    assert fitting_unit("s", 5, written["ms"]) is None


@pytest.mark.parametrize(
    ("reason", "field", "value", "said"),
    [
        ("bad_type", "v", "true", "declare it bool"),
        ("bad_type", "k", "12", "declare it int or float"),
        ("bad_type", "v", '"12"', "declare it string"),
        ("bad_type", "v", "1.5", "declare it float"),
        ("bad_type", "v", "99999999999999999999", "beyond 64 bits"),
        ("bad_type", "v", "null", "'int?'"),
        ("bad_type", "v", None, "it is absent: a ? behind the type allows that: 'int?'"),
        ("bad_type", "v", '{"a": 1}', "by its path"),
        ("bad_type", "v", '"cut…', "let the producer send the declared type"),
        ("bad_event_time", "ts", '"2026-03-02T09:00:00Z"', "unit: iso"),
        ("bad_event_time", "ts", '"1772442000"', "send the number itself, in us"),
        ("bad_event_time", "ts", "1.5", "{unit: us, fraction: true}"),
        ("time_out_of_range", "ts", "1772442000", "the unit that fits is s"),
        ("unknown_field", "vv", "1", "is v meant?"),
        ("unknown_field", "a.b", "1", "declare it as '\"a.b\"' under source.fields"),
        ("out_of_retention", "ts", "1", "or a longer retention"),
        ("late", "ts", "1", "late: {policy: update}"),
    ],
)
def test_advice_fits_what_was_refused(reason: str, field: str, value: str, said: str) -> None:
    assert said in way_out(reason, field, value, pipeline().source)


@pytest.mark.parametrize(
    ("cause", "said"),
    [
        (ZERO, "CASE WHEN q <> 0"),
        (OVERFLOW, "a type with more room"),
        (f"{CAST} to int of what is none", "cast only what has the form"),
        (YEARS, "source.event_time.min and max"),
        (SUBSTR, "counts from 1"),
        ("another one", "an expression has no value for it"),
    ],
)
def test_advice_on_an_expression_fits_why_it_has_no_value(cause: str, said: str) -> None:
    rule = f"v / q, of w.r, has a value; here: {cause}"
    assert said in way_out("bad_expression", "(v / q)", "{}", pipeline().source, rule=rule)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ('"31.03.2024 02:30"', "clocks in Europe/Berlin skip it, in spring"),
        ('"2024-03-31 03:30"', "name the producer's own format"),
    ],
)
def test_advice_on_a_local_time_fits_why_it_is_none(value: str, said: str) -> None:
    unit = "unit: {text: '%d.%m.%Y %H:%M', zone: Europe/Berlin}"
    assert said in way_out("bad_event_time", "ts", value, pipeline("unit: us", unit).source)


def test_only_a_limit_that_the_file_has_is_to_be_moved() -> None:
    number = str(NOW_US // 10**6)
    bare = pipeline("unit: us", "unit: iso").source
    limited = pipeline("unit: us", 'unit: us, max: "2100-01-01", max_ahead: 1 hour').source
    assert "move" not in way_out("time_out_of_range", "ts", number, bare)
    said = way_out("time_out_of_range", "ts", number, limited)
    assert said.endswith("or move source.event_time.max")
    said = way_out("time_ahead", "ts", str(NOW_US), limited)
    assert not said.endswith("min and max")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ('"2026-03-02T10:00:00 Europe/Berlin"', "its zone is a name"),
        ('"2026-03-02T09:00:00Z "', "it has blanks"),
        ('"2026-03-02T09:00:00,5Z"', "begins with a comma"),
        ('"2026-03-02T09:00:00.1234567890123Z"', "more than twelve digits"),
        ('"20260302T090000Z"', "no separators"),
        ('"2026-03-02"', "the date alone"),
        ('"2026-02-30T09:00:00Z"', "there is no such time"),
        ("1772442000000", "unit: ms"),
    ],
)
def test_advice_on_a_time_names_its_spelling(value: str, said: str) -> None:
    source = pipeline("unit: us", "unit: iso").source
    assert said in way_out("bad_event_time", "ts", value, source)
