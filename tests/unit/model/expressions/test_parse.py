"""The tree is what was written: precedence, positions, names, literals; sqlglot is asked, too."""

import random
import subprocess
import sys
from typing import Any

import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import expressions as sql

from chaos.simulator.draw.expressions import KINDS, draw_expression
from windowing.model.expressions.names import written
from windowing.model.expressions.parse import DEPTH_MAX, NODES_MAX, parse_expression
from windowing.model.expressions.tree import Call, Constant, Expression, Name, names_in
from windowing.model.paths import spelled
from windowing.model.types import FieldType, parse_field_type
from windowing.model.zones import utc

TYPES = {kind[0]: FieldType(kind) for kind in KINDS if kind != "decimal"}
TYPES["m"] = parse_field_type("decimal(12,2)")


def shape(node: Expression) -> Any:
    """A tree as nested tuples."""
    if isinstance(node, Constant):
        return node.value
    if isinstance(node, Name):
        return f"<{node.name}>"
    extra = (*node.detail, *([str(node.to)] if node.to else []))
    return (node.function, *map(shape, node.arguments), *extra)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a - b - c", ("-", ("-", "<a>", "<b>"), "<c>")),
        ("a + b * c", ("+", "<a>", ("*", "<b>", "<c>"))),
        ("-a * b", ("*", ("negate", "<a>"), "<b>")),
        ("-1 - -2", ("-", -1, -2)),
        ("a div b mod c", ("mod", ("div", "<a>", "<b>"), "<c>")),
        ("a || b + c", ("||", "<a>", ("+", "<b>", "<c>"))),
        ("NOT a = b AND c", ("and", ("not", ("=", "<a>", "<b>")), "<c>")),
        ("a OR b AND c OR d", ("or", "<a>", ("and", "<b>", "<c>"), "<d>")),
        ("(a AND b) AND c", ("and", ("and", "<a>", "<b>"), "<c>")),
        ("a BETWEEN b AND c AND d", ("and", ("between", "<a>", "<b>", "<c>"), "<d>")),
        ("a NOT BETWEEN b + 1 AND c", ("not", ("between", "<a>", ("+", "<b>", 1), "<c>"))),
        ("a NOT IN (1, b)", ("not", ("in", "<a>", 1, "<b>"))),
        ("a NOT LIKE 'x'", ("not", ("like", "<a>", "x"))),
        ("NOT a IS NOT NULL", ("not", ("not", ("is_null", "<a>")))),
        ("CASE a WHEN 1 THEN b END", ("case", ("=", "<a>", 1), "<b>", None)),
        ("t - INTERVAL '2 hours'", ("add_interval", "<t>", -7_200_000_000)),
        ("EXTRACT(hour FROM t + INTERVAL '1 day')", None),
        ("extract(Hour from t, 'UTC')", ("extract", "<t>", "hour", utc())),
        ("round(a)", ("round", "<a>", 0)),
        ("cast(a AS Decimal( 5 , 2 ))", ("cast", "<a>", "decimal(5,2)")),
        ('items[0]."a.b".end', '<items[0]."a.b".end>'),
        ("'it''s'", "it's"),
        ("'\\n'", "\\n"),
    ],
)
def test_trees(text: str, tree: Any) -> None:
    found = shape(parse_expression(text))
    assert found == (tree or ("extract", ("add_interval", "<t>", 86_400_000_000), "hour"))


def test_places_are_those_of_the_text() -> None:
    text = "a.b +\n  lower('x') || \"c d\""
    tree = parse_expression(text)
    assert isinstance(tree, Call)
    plus, key = tree.arguments
    assert isinstance(plus, Call)
    places = [tree.at, plus.at, plus.arguments[0].at, plus.arguments[1].at, key.at]
    assert [text[at:].split(maxsplit=1)[0] for at in places] == [
        "||",
        "+",
        "a.b",
        "lower('x')",
        '"c',
    ]


@given(st.lists(st.one_of(st.text(min_size=1), st.integers(0, 999_999_999)), max_size=3), st.text())
def test_every_name_can_be_written(more: list[str | int], first: str) -> None:
    name = spelled((first or "x", *more))
    if not name.startswith(("$", '"$')):  # metadata
        assert [one.name for one in names_in(parse_expression(f"1 + {written(name)}"))] == [name]


def test_limits() -> None:
    assert isinstance(parse_expression("x IN (" + "1, " * (NODES_MAX - 3) + "1)"), Call)
    assert isinstance(parse_expression("-(" * (DEPTH_MAX - 1) + "x" + ")" * (DEPTH_MAX - 1)), Call)
    assert isinstance(parse_expression(" AND ".join("x" * 400)), Call)


def test_a_file_without_expressions_does_not_load_sqlglot() -> None:
    look = "import sys, windowing.model.expressions.parse, windowing.model.expressions.check; "
    subprocess.run([sys.executable, "-c", look + "sys.exit('sqlglot' in sys.modules)"], check=True)


_BINARY = {
    sql.Add: "+",
    sql.Sub: "-",
    sql.Mul: "*",
    sql.Div: "/",
    sql.DPipe: "||",
    sql.IntDiv: "div",
}
_BINARY |= {sql.EQ: "=", sql.NEQ: "<>", sql.LT: "<", sql.LTE: "<=", sql.GT: ">", sql.GTE: ">="}


def shape_of_sqlglot(node: sql.Expression) -> Any:
    """What sqlglot has read, as `shape` shows it."""
    if isinstance(node, sql.Paren):
        inside = shape_of_sqlglot(node.this)
        return ["(", inside] if isinstance(node.this, sql.And | sql.Or) else inside
    if isinstance(node, sql.Column):
        return f"<{node.name}>"
    if isinstance(node, sql.Literal):
        return node.this if node.is_string else int(node.this)
    if isinstance(node, sql.And | sql.Or):
        name = "and" if isinstance(node, sql.And) else "or"
        left, right = shape_of_sqlglot(node.left), shape_of_sqlglot(node.right)
        in_a_row = isinstance(left, tuple) and left[0] == name
        return (*left, right) if in_a_row else (name, left, right)
    if type(node) in _BINARY:
        return (_BINARY[type(node)], shape_of_sqlglot(node.left), shape_of_sqlglot(node.right))
    if isinstance(node, sql.Neg):
        inside = shape_of_sqlglot(node.this)
        return -inside if isinstance(node.this, sql.Literal) else ("negate", inside)
    if isinstance(node, sql.Not):
        return ("not", shape_of_sqlglot(node.this))
    if isinstance(node, sql.Is):
        return ("is_null", shape_of_sqlglot(node.this))
    if isinstance(node, sql.Between):
        return ("between", *(shape_of_sqlglot(node.args[key]) for key in ("this", "low", "high")))
    assert isinstance(node, sql.In), node
    return ("in", shape_of_sqlglot(node.this), *map(shape_of_sqlglot, node.expressions))


def naked(found: Any) -> Any:
    """A shape without the marks of parentheses."""
    if isinstance(found, list):
        return naked(found[1])
    return tuple(map(naked, found)) if isinstance(found, tuple) else found


def sentence(rng: random.Random, depth: int = 2) -> str:
    """Operands and operators in a row, hardly any parentheses."""

    def sum_of() -> str:
        parts = [rng.choice("abcd")]
        for _ in range(rng.randint(0, 3)):
            inner = (
                f"({sum_of()})" if rng.random() < 0.1 else rng.choice(["a", "b", "7", "-3", "-c"])
            )
            parts += [rng.choice(["+", "-", "*", "/", "div", "||"]), inner]
        return " ".join(parts)

    def comparison() -> str:
        negated = rng.choice(["", "NOT "])
        return rng.choice(
            [
                f"{sum_of()} {rng.choice(['=', '<>', '<', '<=', '>', '>='])} {sum_of()}",
                f"{sum_of()} IS {negated}NULL",
                f"{sum_of()} {negated}BETWEEN {sum_of()} AND {sum_of()}",
                f"{sum_of()} {negated}IN ({sum_of()}, {sum_of()})",
            ]
        )

    parts = list[str]()
    for _ in range(rng.randint(1, 4)):
        one = f"({sentence(rng, depth - 1)})" if depth and rng.random() < 0.2 else comparison()
        parts += [rng.choice(["AND", "OR"]), rng.choice(["", "", "NOT ", "NOT NOT "]) + one]
    return " ".join(parts[1:])


@given(st.integers(0, 2**32))
def test_sqlglot_reads_the_same(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(40):
        text = sentence(rng)
        theirs = naked(shape_of_sqlglot(sqlglot.parse_one(text)))
        assert shape(parse_expression(text)) == theirs, text


@given(st.integers(0, 2**32))
def test_blanks_and_parentheses_change_nothing(seed: int) -> None:
    text = draw_expression(random.Random(seed), TYPES, "bool", depth=3)
    tree = parse_expression(text)
    assert parse_expression(f"\n( ({text})\t) ") == tree
    assert shape(parse_expression(f"NOT ({text})")) == ("not", shape(tree))
