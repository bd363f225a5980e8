"""What is no expression is refused where the mistake is, with the rule and a way out.

The cases are in `tests/cases/refused_expressions.jsonl`: `at` is the place, `says` are parts of the
message.
"""

import json
from pathlib import Path

import pytest

from windowing.model.errors import Problem
from windowing.model.expressions.check import type_of
from windowing.model.expressions.errors import ExpressionError
from windowing.model.expressions.parse import parse_expression
from windowing.model.types import parse_field_type

CASES = Path(__file__).parents[3] / "cases" / "refused_expressions.jsonl"
TYPES = {
    name: parse_field_type(text)
    for name, text in {
        **{
            "i": "int",
            "j": "int?",
            "x": "float",
            "s": "string",
            "b": "bool?",
            "d": "decimal(12,2)",
        },
        **{"e": "decimal(38,10)", "t": "timestamp", "a": "date", "card": "string"},
        **{"content-type": "string", "$key": "string?"},
    }.items()
}


def refusal(text: str) -> ExpressionError | None:
    try:
        type_of(parse_expression(text), TYPES, text)
    except ExpressionError as error:
        return error
    return None


def test_what_is_refused() -> None:
    wrong = []
    for line in CASES.read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        found = refusal(case["expression"])
        if (
            found is None
            or found.at != case["at"]
            or not all(part in str(found) for part in case["says"])
        ):
            wrong.append((case, found and found.at, str(found)))
    assert wrong == []


@pytest.mark.parametrize(
    ("text", "excerpt"),
    [
        ("i + s", "    i + s\n        ^"),
        ("i +\n  s + 1", "      s + 1\n      ^"),
        ("i + s || '\t\x1b'", None),
        ("i + " * 30 + "s", f"    …{'i + ' * 9}s\n     {' ' * 36}^"),
    ],
)
def test_the_excerpt_ends_the_message(text: str, excerpt: str | None) -> None:
    found = str(refusal(text))
    assert found.isprintable() or "\n    " in found
    assert "\x1b" not in found
    if excerpt is not None:
        assert found.endswith(f"\n{excerpt}")


def test_a_problem_of_a_file_keeps_the_excerpt() -> None:
    shown = str(Problem("p.yml", 3, "source.where", str(refusal("i + s"))))
    assert shown.startswith("p.yml:3: source.where: + takes numbers")
    assert shown.endswith("\n    i + s\n        ^")
    # Lines that are not indented could pretend to be another problem.
    assert "\\n" in str(Problem("p.yml", 3, "x", "a\np.yml:4: b"))
