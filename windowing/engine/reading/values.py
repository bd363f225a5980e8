"""Reading values as one list: a decoder, and the steps behind it, exactly and by column.

The reasons of refusal and their order are those of the format's contract.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import polars as pl

from windowing.engine.columns import FATE, TIME, field_column
from windowing.engine.reading.decoders import json_objects
from windowing.engine.reading.decoders.decoder import DECODERS, Decoder
from windowing.engine.reading.expression_time import ExpressionTime
from windowing.engine.reading.objects import BadValue
from windowing.engine.reading.rules import ValueRules
from windowing.engine.reading.steps import APPENDED, Draft, Step, finished, steps_of

assert json_objects  # noqa: S101 - registers the decoder


class Reading:
    """How the values of one source are read.

    Attributes:
        steps: what follows, in order.
        has_plugins: whether the decoder or a step is a plug-in's.
    """

    def __init__(self, rules: ValueRules) -> None:
        self._rules = rules
        make = DECODERS.required(rules.format.name)
        self.decoder: Decoder = make(rules.format.data, rules.wanted)
        self._time = None if rules.time is None else ExpressionTime(rules, rules.time)
        own = steps_of(rules)
        self.steps: Sequence[Step] = own if self._time is None else [self._time, *own[1:]]
        parts = (self.decoder, *self.steps)
        self.has_plugins = any(not type(part).__module__.startswith("windowing.") for part in parts)

    def exact(
        self,
        value: bytes | None,
        append_us: int | None,
        metadata: Mapping[str, Any] = MappingProxyType({}),
    ) -> Draft:
        """Read one value.

        Args:
            value: the bytes on the log; None: malformed.
            append_us: the broker's append time, or None where it is not known.
            metadata: what an expression of the event time may use besides.

        Raises:
            BadValue: with the first reason that applies.
        """
        if value is None:
            raise BadValue("malformed")
        draft = Draft(self.decoder.exact(value), append_us, metadata=metadata)
        for step in self.steps:
            step.exact(draft)
        return draft

    def uniform(
        self, values: pl.Series, append_us: pl.Series, metadata: Sequence[pl.Series] = ()
    ) -> tuple[pl.DataFrame, pl.Series] | None:
        """Read many values by column; return the columns, and which rows are certain.

        None: the decoder reads too few of them so.
        """
        decoded = self.decoder.columns(values, self._rules)
        if decoded is None:
            return None
        columns, certain = self._finished(decoded.columns, append_us, metadata)
        return columns, certain & decoded.matched

    def clean(
        self,
        values: Sequence[bytes | None],
        append_us: Sequence[int | None],
        metadata: Sequence[pl.Series] = (),
    ) -> pl.DataFrame | None:
        """Read some values at once; None: some are doubtful."""
        decoded = self.decoder.records(values, self._rules)
        if decoded is None:
            return None
        appended = pl.Series(append_us, dtype=pl.Int64)
        columns, certain = self._finished(decoded, appended, metadata)
        return columns if certain.all() else None

    def _finished(
        self, decoded: pl.DataFrame, append_us: pl.Series, metadata: Sequence[pl.Series]
    ) -> tuple[pl.DataFrame, pl.Series]:
        if self._time is not None:
            decoded = self._time.timed(decoded, metadata)
        nothing = [pl.lit(None, dtype=pl.String).alias(FATE)] if self._rules.withholds else []
        appended = append_us.cast(pl.Int64).alias(APPENDED)
        columns, certain = finished(self.steps, decoded.with_columns(appended, *nothing))
        return columns.select(columns_of(self._rules)), certain


def columns_of(rules: ValueRules) -> list[str]:
    """Return the columns that reading values gives."""
    fate = [FATE] if rules.withholds else []
    return [TIME, *map(field_column, rules.fields), *fate]


reading_of = lru_cache(maxsize=64)(Reading)
"""The reading by some rules; built once."""
