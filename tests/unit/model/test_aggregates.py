"""Aggregates as a pipeline file spells them, and what is wrong with those that are refused."""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path

import pytest

from windowing.model import PipelineError, parse_pipeline
from windowing.model.fields import (
    Aggregate,
    ValueType,
    check_aggregate,
    parse_aggregate,
    usage,
    value_type,
)
from windowing.model.file.user_code import check_user_code
from windowing.model.functions import SIGNATURES, Function
from windowing.model.types import FieldType

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
    fields = {"delay": FieldType("int"), "carrier": FieldType("string"), "ok": FieldType("bool")}
    check_aggregate(parse_aggregate("a", usage(function)), fields)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sum", "sum takes one field, as in sum(delay)"),
        ("sum()", "sum takes one field"),
        ("sum(v, x)", "sum takes one field"),
        ("count(v, x)", "count takes no field, or one, as in count"),
        ("any(v)", "v is an int; any needs a bool: declare it bool, or use one of count, sum"),
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
        (
            "mean(s)",
            "s is a string; mean needs a number: declare it int, float or decimal, or use one of",
        ),
        ("top_k(s, 1)", "s is a string; top_k needs a number"),
        ("mean(z)", "'z' is not under source.fields (known: v, x, s)"),
        ("mean(V)", "(known: v, x, s): did you mean 'v'?"),
        ("argmin(v, z)", "'z' is not under source.fields"),
        (f"python:{SWING}", f"a class needs the fields of its update, as python:{SWING}(delay)"),
        ("python:pipelines.swing:Swinging(v)", "has no class Swinging"),
        ("python:pipelines.nothing:Swing(v)", "must be importable wherever a job runs"),
    ],
)
def test_mistakes_are_named_with_the_rule(text: str, said: str) -> None:
    with pytest.raises(PipelineError) as raised:
        check_user_code(parse_pipeline(PIPELINE.replace("TEXT", f'"{text}"')), "<pipeline>")
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


def test_another_source_of_a_class_is_another_pipeline(monkeypatch: pytest.MonkeyPatch) -> None:
    text = PIPELINE.replace("TEXT", f"python:{SWING}(v)")
    before = parse_pipeline(text).fingerprint
    assert parse_pipeline(text).fingerprint == before
    monkeypatch.setattr("windowing.model.user.user_aggregate.source_digest", lambda _: "another")
    assert parse_pipeline(text).fingerprint != before


def test_reading_a_file_runs_no_code_of_a_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "leaves.py").write_text("import sys\nsys.exit(7)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    pipeline = parse_pipeline(PIPELINE.replace("TEXT", "python:leaves:Class(v)"), "p.yml")
    assert "leaves" not in sys.modules
    with pytest.raises(PipelineError, match=r"p.yml:9: .* importing leaves failed: SystemExit: 7"):
        check_user_code(pipeline, "p.yml")


@pytest.mark.parametrize(
    "code",
    [
        "import sys; sys.exit(0)",
        "1 / 0",
        "def broken(:",
        "class Class:\n    def __init__(self): raise SystemExit(7)",
        "class Class:\n    def __init__(self, given): pass",
        "Class = type('Class', (), {n: print for n in ('init', 'update', 'merge', 'result')})\n"
        "Class.returns = 'int'",
    ],
)
def test_whatever_a_class_does_when_it_is_looked_at_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    module = f"broken_{abs(hash(code))}"
    (tmp_path / f"{module}.py").write_text(code)
    monkeypatch.syspath_prepend(str(tmp_path))
    pipeline = parse_pipeline(PIPELINE.replace("TEXT", f"python:{module}:Class(v)"))
    with pytest.raises(PipelineError, match=f"python:{module}:Class: .*") as raised:
        check_user_code(pipeline, "p.yml")
    assert "\n" not in str(raised.value)
