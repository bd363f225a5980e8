"""A user's operator: how it is found and called, and how its mistakes are reported."""

import re
from typing import Any

import pytest

from tests.unit.model.test_operators import pipeline_of
from windowing.model.errors import PipelineError
from windowing.model.file.user_code import check_user_code, user_classes
from windowing.model.user.user_operator import UserOperatorError, handled, load, send

HERE = "tests.unit.model.user_operators"
OUTPUTS = (("swing", "float"),)
ROWS = [{"v": 3}, {"v": -1}]


def sent(name: str, handler: str, *more: Any, **settings: Any) -> list[dict[str, Any]]:
    arguments = [("AA",), *more, ROWS]
    return send(f"{HERE}:{name}", tuple(settings.items()), OUTPUTS, handler, arguments)  # type: ignore[arg-type]


def test_a_handler_sends_tuples_of_the_declared_types() -> None:
    (row,) = sent("Swing", "on_flush", scale=2)
    assert row == {"swing": 8.0}
    assert type(row["swing"]) is float
    assert sent("Silent", "on_flush") == []
    assert sent("Generator", "on_insert", ROWS[-1]) == [{"swing": 2.0}, {"swing": None}]


def test_the_handlers_of_a_class_are_those_that_it_has() -> None:
    assert handled(load(f"{HERE}:Swing", ())) == {"on_flush"}
    assert handled(load(f"{HERE}:Generator", ())) == {"on_insert"}


@pytest.mark.parametrize(
    ("sends", "message"),
    [
        ("a name", "on_trigger sent {'other': 1}: send mappings with swing"),
        ("a text", "swing is 'x', and must be a number other than NaN or None"),
        ("NaN", "swing is nan"),
        ("a truth", "swing is True"),
        ("no mapping", "on_trigger sent 1"),
        ("no list", "on_trigger(key ('AA',), …) failed: TypeError"),
    ],
)
def test_what_a_handler_sends_is_checked(sends: str, message: str) -> None:
    with pytest.raises(UserOperatorError, match=re.escape(message)):
        sent("Wrong", "on_trigger", sent=sends)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("NoHandler", "handles nothing: give it one of on_insert, on_evict, on_trigger"),
        ("NotMade", "making one failed: KeyError: 'scale'"),
        ("Absent", f"module {HERE} has no class Absent"),
    ],
)
def test_a_class_that_cannot_be_used_is_refused_with_line_and_field(
    name: str, message: str
) -> None:
    own = (
        f"{{operator: 'python:{HERE}:{name}', window: TUMBLING count(2), outputs: {{swing: int}}}}"
    )
    dedup = "{operator: dedup, by: [n], window: SLIDING count(2)}"
    for query, path in ((own, "operator"), (f"{{steps: [{dedup}, {own}]}}", "steps.1.operator")):
        with pytest.raises(PipelineError, match=re.escape(message)) as raised:
            check_user_code(pipeline_of(query), "p.yml")
        assert str(raised.value).startswith(f"p.yml:10: queries.q0.{path}: python:{HERE}:{name}")


def test_user_aggregates_of_operators_are_found_too() -> None:
    users = "{operator: aggregate, window: TUMBLING count(2), aggregates: {a: 'python:m:C(n)'}}"
    (found,) = user_classes(pipeline_of(users))
    assert (found.path, found.reference) == (("queries", "q0", "aggregates", "a"), "m:C")


def test_an_error_of_a_handler_names_it() -> None:
    with pytest.raises(UserOperatorError, match=r"on_trigger.*failed: SystemExit: over"):
        sent("Raising", "on_trigger")
