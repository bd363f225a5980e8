"""What newcomers write first, and what they are told to write instead."""

from __future__ import annotations

from typing import Final

import pytest

from tests.unit.model.test_documents import GOOD
from windowing.model import PipelineError, parse_pipeline

_Q: Final = "aggregates: {n: count}"


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (_Q, f"group_by: [$header.x], {_Q}", "did you mean '$headers.NAME'?"),
        (_Q, f"group_by: [v + 1], {_Q}", "derive it, as derive: {x: 'v + 1'}, and name x here"),
        (_Q, f"group_by: [w], {_Q}", "'w' is not under source.fields (known: v)\n"),
        ("{v: int}", "{v: string, v.x: int}", "p.yml:7: source.fields.v.x: 'v.x' is inside of 'v'"),
        (
            "topic: s\n  partitions: 1",
            "topics: {b: 0}",
            "it has to be at least 1; an example:",
        ),
        ("topic: s\n  partitions: 1", "topics: {b: x}", "it has to be a whole number, without quo"),
        ("unit: us", "unit: days", "ns, iso, {text: '%d.%m.%Y %H:%M'}"),
        (
            "{v: int}",
            "{v: int}\n  duplicates: {by: [v], within: 5 rows}",
            "'5 rows' is not a length of time: it needs a unit of time, as '30 seconds'",
        ),
        ("{v: int}", "{v: int}\n  where: v + 1", "as amount > 0\n    v + 1\n      ^"),
        (_Q, 'aggregates: {n: "count where  v"}', "as amount > 0\n    v\n    ^"),
    ],
)
def test_a_newcomers_mistake_comes_with_what_to_write(before: str, after: str, said: str) -> None:
    assert before in GOOD
    with pytest.raises(PipelineError) as found:
        parse_pipeline(GOOD.replace(before, after, 1), "p.yml")
    assert said in f"{found.value}\n"


def test_a_comma_without_quotes_is_one_mistake() -> None:
    """To YAML it ends the aggregate, and begins another one of an odd name."""
    text = GOOD.replace("{n: count}", "{n: first(v, v), m: mean(w)}", 1)
    with pytest.raises(PipelineError) as found:
        parse_pipeline(text, "p.yml")
    first, second = found.value.problems
    assert "put the whole in quotes" in first.message
    assert second.field.endswith(".m")
