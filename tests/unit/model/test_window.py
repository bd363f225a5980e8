"""The window language: what it takes, and exactly one code for what it does not."""

import pytest

from windowing.model import PipelineError, parse_pipeline
from windowing.model.errors import WindowError
from windowing.model.windows.by_record import SlideByRank, SlideByTuple
from windowing.model.windows.language import AttributeType
from windowing.model.windows.parsing import parse_window
from windowing.model.windows.rows import RowWindow
from windowing.model.windows.sliding import Sliding
from windowing.model.windows.window import Window

ATTRIBUTES: dict[str, AttributeType] = {"ts": "time", "pos": "number", "key": "text"}
TUPLES = "SLIDE 1 row SATTR row_num"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        *((text, "E_SYNTAX") for text in ("", "[]", " , ", "[RANGE 1 s SLIDE 1 s WATTR ts")),
        *((f"RANGE {length} SLIDE 1 s WATTR ts", "E_SYNTAX") for length in (".5 s", "5. s", "1e3")),
        *((f"RANGE {word} SLIDE 1 s WATTR ts", "E_SYNTAX") for word in ("1 secs", "2 rowss")),
        ("RANGE 1 s SLIDE landmark WATTR ts", "E_SYNTAX"),
        ("RANGE 1 s SLIDE 1 s WATTR ts FOO 3", "E_SYNTAX"),
        ("RANGE 1 s SLIDE 1 s WATTR ts range 1 s", "E_DUPLICATE"),
        ("RANGE 1 s WATTR nosuch", "E_ATTR_UNKNOWN"),
        ("RANGE 1 s SLIDE 1 s WATTR TS", "E_ATTR_UNKNOWN"),
        ("RANGE 1 s SLIDE 1 s", "E_MISSING"),
        ("RANGE 1 s SLIDE 1 s WATTR ts RATTR ts", "E_ATTR_MIX"),
        ("RANGE 1 s SLIDE 1 row RATTR ts", "E_ATTR_MIX"),
        ("RANGE 1 SLIDE 1 WATTR key", "E_ATTR_TYPE"),
        ("RANGE 1 SLIDE 1 WATTR pos PATTR row_num", "E_ATTR_TYPE"),
        (f"RANGE 1 rows RATTR row-num {TUPLES}", "E_RATTR"),
        ("RANGE 1 s SLIDE 1 row RATTR ts SATTR rank(pos)", "E_SATTR"),
        (f"RANGE LANDMARK RATTR ts {TUPLES}", "E_LANDMARK"),
        (f"RANGE 1 s RATTR ts {TUPLES} ORIGIN 0 s", "E_ORIGIN"),
        ("RANGE 1 s SLIDE 1 s WATTR ts ORDER log", "E_ORDER"),
        ("RANGE 1 s SLIDE 1 rows WATTR ts", "E_UNIT"),
        ("RANGE 1 s SLIDE 1 s WATTR ts ORIGIN 3", "E_UNIT"),
        ("RANGE 1 s SLIDE 0 s WATTR ts", "E_VALUE"),
        ("RANGE 0.5 us SLIDE 1 s WATTR ts", "E_VALUE"),
        ("RANGE 9223372036854775808 us SLIDE 1 s WATTR ts", "E_VALUE"),
    ],
)
def test_one_mistake_has_one_code(text: str, code: str) -> None:
    with pytest.raises(WindowError) as error:
        parse_window(text, ATTRIBUTES)
    assert error.value.code == code


@pytest.mark.parametrize(
    ("text", "code"),
    [
        # A rule that stands further up in the language's table goes before.
        ("RANGE 1 rows SLIDE -5 seconds WATTR ts", "E_UNIT"),
        ("RANGE 0 s SLIDE 1 row WATTR ts", "E_UNIT"),
        ("RANGE 1 parsec SLIDE 1 s WATTR nosuch", "E_SYNTAX"),
        ("SLIDE 1 s WATTR ts RATTR ts", "E_MISSING"),
        ("RANGE LANDMARK SLIDE 1 s RATTR key SATTR row_num", "E_ATTR_TYPE"),
        ("RANGE LANDMARK SLIDE 1 s RATTR ts SATTR pos ORIGIN 1 row", "E_SATTR"),
    ],
)
def test_of_two_mistakes_the_earlier_rule_speaks(text: str, code: str) -> None:
    with pytest.raises(WindowError) as error:
        parse_window(text, ATTRIBUTES)
    assert error.value.code == code


@pytest.mark.parametrize(
    ("text", "kind", "range_", "slide"),
    [
        ("range 0.25MIN, slide +10s wattr ts", Sliding, 15_000_000, 10_000_000),
        ("[RANGE 2 days SLIDE 1 d WATTR ts]", Sliding, 172_800 * 10**6, 86_400 * 10**6),
        ("RANGE landmark SLIDE 3 rows WATTR row-num ORDER LOG", RowWindow, None, 3),
        ("RANGE 3 SLIDE 2 WATTR pos", Sliding, 3, 2),
        ("SATTR RANK ( pos ) SLIDE 3 rows RATTR pos RANGE 4", SlideByRank, 4, 3),
        (f"RANGE 1 us RATTR ts {TUPLES}", SlideByTuple, 1, 1),
    ],
)
def test_spellings(text: str, kind: type[Window], range_: int | None, slide: int) -> None:
    window = parse_window(text, ATTRIBUTES)
    assert (type(window), window.range_, window.slide) == (kind, range_, slide)


def test_gaps_of_keys_that_do_not_exist_are_a_sentence() -> None:
    """It was a KeyError."""
    text = (
        "name: p\n"
        "source: {topic: s, partitions: 1, format: json, event_time: {field: ts, unit: us},\n"
        "  fields: {v: int}, disorder: ordered}\n"
        "queries:\n"
        "  q:\n"
        "    window: {session: 5 us, wattr: ts, gaps: {a: 1 us}}\n"
        "    group_by: [g]\n"
        "    aggregates: {n: count}\n"
    )
    with pytest.raises(PipelineError, match=r"E_ATTR_UNKNOWN: 'g' is not under source.fields"):
        parse_pipeline(text)
