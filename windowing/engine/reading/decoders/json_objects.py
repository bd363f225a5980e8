"""JSON objects as values: exactly, by column where they are uniform, into structs where clean.

The values of a topic are mostly written by one program, with the same members in the same order:
one of them shows the layout, and those of this layout are read by column. Clean values of several
writers are decoded into a struct of the declared fields (ADR 58). What either reads is what the
exact decoder would read; values that they doubt are left to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import polars as pl

from windowing.engine.reading.decoders.decoder import Decoded, Decoder, decoder
from windowing.engine.reading.decoders.structs import decode_clean
from windowing.engine.reading.objects import parse_object
from windowing.engine.reading.rules import ValueRules
from windowing.engine.tuning import tuning
from windowing.model.types import Kind

if TYPE_CHECKING:
    from windowing.engine.reading.decoders.layout import Layout
    from windowing.engine.reading.decoders.members import Member


def decode_uniform(values: pl.Series, rules: ValueRules) -> Decoded | None:
    """Decode the values that have the layout of most of them; None if too few do."""
    limits = tuning()
    if len(values) < limits.alike_from_values:
        return None
    sample = values.gather_every(max(len(values) // limits.alike_samples, 1))
    members = _members(sample, rules)
    if members is None:
        return None
    layout = _layout(members)
    like = layout.read(sample)
    if like is None or 100 * like[1].sum() < limits.alike_percent * len(sample):
        return None
    found = layout.read(values)
    if found is None:
        return None
    columns, matched = found
    return Decoded(matched, columns)


def _members(sample: pl.Series, rules: ValueRules) -> tuple[Member, ...] | None:
    """Return the members of the first value that shows all, or else of the first that shows some.

    None: no value shows any.
    """
    from windowing.engine.reading.decoders.members import (  # noqa: PLC0415 - loads numba
        members_of,
        shows_all,
    )

    some = None
    for value in sample:
        members = members_of(value, rules)
        if members is not None and shows_all(members):
            return members
        some = some or members
    return some


@lru_cache(maxsize=64)
def _layout(members: tuple[Member, ...]) -> Layout:
    from windowing.engine.reading.decoders.layout import Layout  # noqa: PLC0415 - loads numba

    return Layout(members)


@decoder("json")
class JsonDecoder(Decoder):
    """Objects, in UTF-8."""

    rule = "a value is one JSON object in UTF-8"

    def __init__(self, settings: None, wanted: Mapping[str, Kind]) -> None:
        del settings
        self._exact = "decimal" in wanted.values()

    def exact(self, value: bytes) -> dict[str, Any]:
        """Return an object's members."""
        return parse_object(value, exact=self._exact)

    def columns(self, values: pl.Series, rules: ValueRules) -> Decoded | None:
        """Read the values that have the layout of most."""
        return decode_uniform(values, rules)

    def records(self, values: Sequence[bytes | None], rules: ValueRules) -> pl.DataFrame | None:
        """Read values into structs of the declared fields."""
        return decode_clean(values, rules)
