"""Declared paths, and values with what they lead to, written as JSON of one shape."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from windowing.engine.reading.paths import Tree
from windowing.model.paths import Path, check_apart, spelled

KEYS = st.text(st.characters(exclude_characters="\0", codec="utf-8"), min_size=1, max_size=3)
KEYS |= st.sampled_from(["a.b", "a b", "[x]", "#", "&&", "--", "~", "\u00e9", "\\d", '"', ""])
_OUTER = st.sampled_from(["o", "p"])
_PATHS: st.SearchStrategy[Path] = st.one_of(
    st.tuples(KEYS),
    st.tuples(KEYS),
    st.tuples(_OUTER, KEYS),
    st.tuples(_OUTER, _OUTER, KEYS),
    st.tuples(_OUTER, st.integers(0, 2)),
    st.tuples(_OUTER, st.integers(0, 2), KEYS),
)
_MORE = ["1", "-2.5e3", '"t"', "null", "true", "[]", "{}", '[{"a":[1,{}]},"x"]', '{"x":{"y":[[]]}}']
_MORE += ['{"a" : 1}', "[1,]", '{"a":01}', '"\\n"', '{"\\u0061":1}', "[" * 70 + "]" * 70, "[1 , 2]"]
_INSTEAD = ["null", "5", '"t"', "{}", "[]", "true"]


def _are_apart(paths: list[Path]) -> bool:
    try:
        check_apart(map(spelled, paths))
    except ValueError:
        return False
    return True


def declarations() -> st.SearchStrategy[list[str]]:
    """Names of fields that a source can have together."""
    some = st.lists(_PATHS, min_size=1, max_size=4, unique=True).filter(_are_apart)
    return some.map(lambda paths: [*map(spelled, paths)])


@dataclass(frozen=True)
class Shape:
    """How an object or an array is written.

    Attributes:
        members: keys, None in an array, with a shape, a field, or None for anything else.
        blank: what stands behind colons and commas.
    """

    members: tuple[tuple[str | None, Any], ...]
    blank: str
    is_array: bool = False


@st.composite
def shapes(draw: st.DrawFn, tree: Tree, *, more: bool = True, blank: str | None = None) -> Shape:
    """A shape of values with what is declared; `more`: and perhaps with something else."""
    blank = draw(st.sampled_from(["", " "])) if blank is None else blank
    inner = {
        key: part if isinstance(part, str) else draw(shapes(part, blank=blank))
        for key, part in tree.items()
    }
    if any(isinstance(key, int) for key in tree):
        size = max(key for key in tree if isinstance(key, int)) + 1 + draw(st.integers(0, 1))
        return Shape(tuple((None, inner.get(place)) for place in range(size)), blank, is_array=True)
    members: list[tuple[Any, Any]] = [*inner.items()]
    if more and draw(st.booleans()):
        members += [(key, None) for key in [draw(KEYS)] if key not in tree]
    return Shape(tuple(draw(st.permutations(members))), blank)


def written(draw: st.DrawFn, shape: Shape, text: Callable[[str], str]) -> str:
    """Write a value of a shape, mostly.

    Args:
        text: of a field.
    """
    parts = list[str]()
    for key, part in shape.members:
        if part is None:
            said = draw(st.sampled_from(_MORE))
        elif isinstance(part, str):
            said = text(part)
        elif draw(st.integers(0, 12)) == 0:
            said = draw(st.sampled_from(_INSTEAD))
        else:
            said = written(draw, part, text)
        name = "" if key is None else f"{json.dumps(key, ensure_ascii=False)}:{shape.blank}"
        parts.append(name + said)
    if shape.is_array:
        parts = parts[: draw(st.sampled_from([None, None, None, 1, 0]))]
    inside = f",{shape.blank}".join(parts)
    return f"[{inside}]" if shape.is_array else "{" + inside + "}"
