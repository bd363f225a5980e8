"""Values and columns as the simulator draws them, for tests of machinery.

A choice for every value is more than Hypothesis can shrink. It shrinks the number of rows and the
seed instead.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from chaos.simulator.draw.values import Values
from windowing.model.types import FieldType

ROWS = st.sampled_from([0, 1, 2, 3, 5, 9, 17, 66, 130, 258])
CROWDED = 2_300
"""More rows than the first table of groups has room for."""

_SEEDS = st.integers(0, 2**32 - 1)


def values(kind: str) -> st.SearchStrategy[Any]:
    """Single values of a kind, none of them null."""
    return _SEEDS.map(random.Random).map(lambda rng: _decoded(Values.drawn(rng).value(rng, kind)))


@st.composite
def tables(
    draw: st.DrawFn,
    types: Mapping[str, str],
    largest: Mapping[str, int] | None = None,
    rows: st.SearchStrategy[int] = ROWS,
) -> dict[str, list[Any]]:
    """Columns of one length, as they are after decoding.

    Args:
        types: by column, as in a pipeline file: a `?` behind it makes nulls possible.
        largest: by column of ints, the largest absolute value.
        rows: how many rows.
    """
    rng, size = random.Random(draw(_SEEDS)), draw(rows)
    parsed = {
        name: FieldType(text.rstrip("?"), nullable=text.endswith("?"))  # type: ignore[arg-type]
        for name, text in types.items()
    }
    drawn = Values.drawn(rng, distinct=size if size >= CROWDED else 0)
    table = drawn.table(rng, parsed, size, largest)
    return {name: [*map(_decoded, column)] for name, column in table.items()}


def _decoded(value: Any) -> Any:
    return value + 0.0 if isinstance(value, float) else value
