"""Programs: names of derived fields, what is computed how often, and what a small chunk costs."""

from __future__ import annotations

from importlib import import_module

import pytest

from tests.bounds import within
from tests.unit.engine.expressions.frames import frame_of
from windowing.engine.reading.expressions import evaluate, program_over
from windowing.engine.reading.expressions.program import BOOL, Node, Program
from windowing.engine.reading.expressions.vectors import Vector
from windowing.model.expressions.parse import parse_expression
from windowing.model.expressions.tree import Call, Name
from windowing.model.types import parse_field_type

TYPES = {name: parse_field_type(text) for name, text in {"a": "int?", "b": "int"}.items()}
ROWS = [{"a": 6, "b": 2}, {"a": None, "b": 0}, {"a": 1, "b": 0}]


def test_a_derived_name_is_what_it_stands_for() -> None:
    program = program_over(TYPES)
    program.add(parse_expression("a / b"), "share")
    program.add(parse_expression("share > 2"), "b")
    program.add(parse_expression("b"))
    share, large, again = program.run(frame_of(TYPES, ROWS))
    assert (share.values.to_list(), share.failed.to_list()) == (
        [3.0, None, None],
        [False, False, True],
    )
    assert (large.values.to_list(), large.failed.to_list()) == (
        [True, None, None],
        [False, False, True],
    )
    assert again.values.to_list() == large.values.to_list()


def test_equal_parts_are_computed_once_and_constants_never_again() -> None:
    calls = list[int]()

    def kernel(argument: Vector) -> Vector:
        calls.append(len(argument.values))
        return argument

    def counted(program: Program, call: Call, arguments: list[Node]) -> Node:
        return program.apply(call.function, kernel, arguments, BOOL)

    program = Program(TYPES, {"counted": counted})
    of_field = Call("counted", (Name("a"),))
    program.add(Call("counted", (of_field,)))
    program.add(of_field)
    program.add(Call("counted", (parse_expression("12"),)))
    assert calls == [1]
    program.run(frame_of(TYPES, ROWS))
    assert calls == [1, 3, 3]


def test_an_expression_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    text, frame = "a + b = 4711", frame_of(TYPES, ROWS)
    evaluate(parse_expression(text), frame, TYPES)
    module = import_module("windowing.engine.reading.expressions.evaluate")
    monkeypatch.setattr(module, "program_over", None)
    # Another tree that is equal to it; and another field beside its own.
    evaluate(parse_expression(text), frame, TYPES | {"c": BOOL})
    with pytest.raises(TypeError):
        evaluate(parse_expression(text), frame, TYPES | {"b": parse_field_type("float")})


def test_a_small_chunk_costs_microseconds() -> None:
    tree, frame = parse_expression("b <> 0 AND a / b > 2"), frame_of(TYPES, ROWS * 10)
    evaluate(tree, frame, TYPES)
    with within(0.3):  # three times what 300 of them take
        for _ in range(300):
            evaluate(tree, frame, TYPES)
