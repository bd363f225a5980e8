"""Text without quotes stands for what the core schema of YAML 1.2 says, on the way in and out."""

import math
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.model.test_control import TEXT as WITH_CONTROL
from windowing.model import PipelineError, parse_pipeline
from windowing.model.file.yaml_lines import load, spell

TEXT = WITH_CONTROL.replace("CONTROL", "none")


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("on", "on"),
        ("no", "no"),
        ("Yes", "Yes"),
        ("y", "y"),
        ("true", True),
        ("FALSE", False),
        ("~", None),
        ("", None),
        ("1:30", "1:30"),
        ("1_000", "1_000"),
        ("010", 10),
        ("0o12", 10),
        ("0x1F", 31),
        ("0b11", "0b11"),
        ("+12", 12),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("1.", 1.0),
        ("-.inf", -math.inf),
        ("190:20:30.15", "190:20:30.15"),
        ("2024-02-03", date(2024, 2, 3)),
        ("=", "="),
    ],
)
def test_plain_text_is_read_by_the_core_schema(written: str, value: object) -> None:
    assert load(f"a: {written}\n") == {"a": value}
    assert type(load(f"a: {written}\n")["a"]) is type(value)
    if written:
        assert load(f"{{{written}: 1}}") == {value: 1}


_TEXTS = st.text(alphabet="0123456789abcdefnotruyesOxNF_:.+-~<= ", max_size=6)


@given(st.dictionaries(_TEXTS, st.one_of(_TEXTS, st.integers(), st.booleans(), st.none())))
def test_what_is_spelled_is_read_again(document: dict[str, Any]) -> None:
    assert load(spell(document)) == document


@pytest.mark.parametrize("name", ["on", "no", "yes", "off", "y"])
def test_a_field_may_have_a_name_that_was_a_boolean(name: str) -> None:
    text = TEXT.replace("fields: {", f"fields: {{{name}: int, ", 1)
    assert name in parse_pipeline(text).source.fields
    assert name in parse_pipeline(parse_pipeline(text).text).document["source"]["fields"]


@pytest.mark.parametrize(
    ("of", "to", "said"),
    [
        ("fields: {", "fields: {true: int, ", "true is no text to YAML: quote it, as 'true'"),
        ("fields: {", "fields: {7: int, ", "7 is no text to YAML: quote it, as '7'"),
        ("topic: ", "topic: 12 #", "quote it, as '12'"),
        ("topic: ", "topic: flights-.* #", "a pattern of topics is not taken"),
        ("topic: ", "topic: [a, b] #", "a list of topics is not taken"),
        ("partitions: ", "partitions: 1:30 #", "'1:30' is not allowed"),
        ("partitions: ", "partitions: 1_0 #", "'1_0' is not allowed"),
    ],
)
def test_what_is_meant_as_text_or_number_has_advice(of: str, to: str, said: str) -> None:
    with pytest.raises(PipelineError) as caught:
        parse_pipeline(TEXT.replace(of, to, 1))
    assert said in str(caught.value)
