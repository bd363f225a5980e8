"""Aggregates as a pipeline file spells them, and what is wrong with those that are refused."""

from __future__ import annotations

from fractions import Fraction

import pytest

from windowing.spec import PipelineError, parse_pipeline
from windowing.spec.fields import (
    SIGNATURES,
    Aggregate,
    FieldType,
    Function,
    ValueType,
    check_aggregate,
    parse_aggregate,
    usage,
    value_type,
)

FIELDS = {"v": FieldType("int"), "x": FieldType("float"), "s": FieldType("string")}
SWING = "pipelines.swing:Swing"
PIPELINE = """
name: p
source: {topic: t, partitions: 1, format: json, event_time: {field: ts, unit: us},
  fields: {v: int, x: float, s: string}, disorder: ordered}
queries:
  q:
    window: RANGE 10 us SLIDE 10 us WATTR ts
    aggregates:
      a: TEXT
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("count", Aggregate("a", "count")),
        ("count()", Aggregate("a", "count")),
        (" stddev ( v ) ", Aggregate("a", "stddev", "v")),
        ("argmax(v,s)", Aggregate("a", "argmax", "v", ("s",))),
        ("argmin(v)", Aggregate("a", "argmin", "v")),
        ("quantile(v, 99%)", Aggregate("a", "quantile", "v", (), (Fraction(99, 100),))),
        (
            "approx_quantile(v, 0.5)",
            Aggregate("a", "approx_quantile", "v", (), (Fraction(1, 2), Fraction(1, 100))),
        ),
        ("approx_count_distinct(s)", Aggregate("a", "approx_count_distinct", "s", (), (1024,))),
        ("top_k(x, 3)", Aggregate("a", "top_k", "x", (), (3,))),
    ],
)
def test_what_stands_in_a_file_is_read(text: str, expected: Aggregate) -> None:
    assert parse_aggregate("a", text) == expected


@pytest.mark.parametrize("function", SIGNATURES)
def test_the_examples_that_errors_give_are_right(function: Function) -> None:
    fields = {"delay": FieldType("int"), "carrier": FieldType("string")}
    check_aggregate(parse_aggregate("a", usage(function)), fields)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sum", "sum takes one field, as in sum(delay)"),
        ("sum()", "sum takes one field"),
        ("sum(v, x)", "sum takes one field"),
        ("count(v)", "count takes no field (it counts records), as in count"),
        ("argmax(v, x, s)", "argmax takes one or two fields, as in argmax(delay, carrier)"),
        ("quantile(v)", "quantile is written quantile(delay, 0.99)"),
        ("quantile(v, 0.5, 0.5)", "quantile is written quantile(delay, 0.99)"),
        ("quantile(v, 1.5)", "1.5 is not possible: a share lies between 0 and 1, as 0.99 or 99%"),
        ("quantile(v, -0.5)", "-0.5 is not possible"),
        ("quantile(v, x)", "quantile takes one field"),
        ("approx_quantile(v, 0.5, 50%)", "a relative accuracy lies between 0.01% and 25%"),
        ("top_k(v, 0)", "k is 1 to 10000"),
        ("top_k(v, 2.5)", "k is 1 to 10000"),
        ("top_k(v, 300%)", "k is 1 to 10000"),
        ("approx_count_distinct(v, 8)", "the number of hashes is 16 to 65536"),
        ("average(v)", "'average' is not an aggregate: use count, sum, mean, var"),
        ("mean v", "is not an aggregate: write count, a function of a field"),
        (
            "top_k(v",
            "inside {} a comma ends it: put the whole in quotes, as 'quantile(delay, 0.9)'",
        ),
        ("mean(s)", "s is a string; mean needs a number: declare it int or float, or use one of"),
        ("top_k(s, 1)", "s is a string; top_k needs a number"),
        ("argmin(s, v)", "s is a string; argmin needs a number"),
        ("mean(z)", "'z' is not under source.fields (known: v, x, s)"),
        ("argmin(v, z)", "'z' is not under source.fields"),
        (f"python:{SWING}", f"a class needs the fields of its update, as python:{SWING}(delay)"),
        ("python:pipelines.swing:Swinging(v)", "has no class Swinging"),
        ("python:pipelines.nothing:Swing(v)", "must be importable wherever a job runs"),
    ],
)
def test_mistakes_are_named_with_the_rule(text: str, said: str) -> None:
    with pytest.raises(PipelineError) as raised:
        parse_pipeline(PIPELINE.replace("TEXT", f'"{text}"'))
    [problem] = raised.value.problems
    assert (problem.field, problem.line) == ("queries.q.aggregates.a", 9)
    assert said in problem.message


@pytest.mark.parametrize(
    ("text", "kind", "many"),
    [
        ("count", "int", False),
        ("mean(v)", "float", False),
        ("quantile(v, 0.5)", "int", False),
        ("median(v)", "float", False),
        ("argmax(x, s)", "string", False),
        ("argmax(x)", "int", False),
        ("collect(s)", "string", True),
        ("top_k(x, 2)", "float", True),
        (f"python:{SWING}(v)", "float", False),
    ],
)
def test_every_result_has_a_type(text: str, kind: str, many: bool) -> None:
    assert value_type(parse_aggregate("a", text), FIELDS) == ValueType(kind, many)


def test_another_source_of_a_class_is_another_pipeline() -> None:
    one = parse_pipeline(PIPELINE.replace("TEXT", f"python:{SWING}(v)"))
    [aggregate] = one.queries[0].aggregates
    assert aggregate.code is not None
    assert aggregate.code in repr(one.queries)  # which the fingerprint is made of
