"""Event times that are expressions over a value's fields and a record's metadata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import polars as pl

from windowing.engine.columns import WRITTEN_TIME, field_column
from windowing.engine.reading.decoders.decoder import dtype_of
from windowing.engine.reading.expressions import evaluate
from windowing.engine.reading.objects import BadValue
from windowing.engine.reading.rules import ValueRules
from windowing.engine.reading.steps import Draft, TimeStep, TypesStep, check_time, typed
from windowing.model.computed import Computation
from windowing.model.expressions.tree import names_in
from windowing.model.lengths import INT64_MAX
from windowing.model.metadata import is_metadata
from windowing.model.times import POWERS

_DIVISOR: Final = 1_000


class ExpressionTime(TimeStep):
    """The event time as an expression: of one record, and of many that are decoded."""

    def __init__(self, rules: ValueRules, time: Computation) -> None:
        super().__init__(rules)
        self._unit_us, self._time = 1, time
        self._names = list(dict.fromkeys(name.name for name in names_in(time.expression)))
        unit = str(rules.event_time.unit)
        self._power = POWERS[unit] if time.type.kind == "int" else 0

    def exact(self, draft: Draft) -> None:
        """Read the fields that are used, and the time.

        A wrong type of one of them is a bad time; null is a value.
        """
        try:
            found = {name: self._value(name, draft) for name in self._names}
        except BadValue:
            raise BadValue("bad_event_time") from None
        types = self._rules.known_fields
        columns = [
            pl.Series(field_column(name), [value], dtype=dtype_of(types[name]))
            for name, value in found.items()
        ]
        frame = pl.DataFrame(columns) if columns else pl.DataFrame({"": [None]})
        evaluated = evaluate(self._time.expression, frame, types)
        if evaluated.failed[0]:
            raise BadValue("bad_event_time")
        value = evaluated.values[0]
        if value is None:
            raise BadValue("missing_event_time")
        scaled = value // _DIVISOR if self._power < 0 else value * 10**self._power
        draft.ts_us = check_time(scaled, draft.append_us, self._rules)

    def _value(self, name: str, draft: Draft) -> Any:
        if is_metadata(name):
            return draft.metadata.get(name)
        value = self._rules.found(draft.members, name)
        return None if value is None else typed(value, name, self._rules)

    def timed(self, decoded: pl.DataFrame, metadata: Sequence[pl.Series]) -> pl.DataFrame:
        """Return decoded columns with the time in microseconds, null where it is doubtful."""
        columns: Mapping[str, pl.Expr] = TypesStep(self._rules).columns(decoded.columns)
        frame = decoded.with_columns(**columns).with_columns(*metadata)
        found = evaluate(self._time.expression, frame, self._rules.known_fields)
        value = found.values.zip_with(~found.failed, pl.Series([None], dtype=pl.Int64))
        if self._power < 0:
            return decoded.with_columns((value // _DIVISOR).alias(WRITTEN_TIME))
        unit = 10**self._power
        fits = value.is_between(-(INT64_MAX // unit), INT64_MAX // unit).fill_null(value=False)
        value = value.zip_with(fits, pl.Series([None], dtype=pl.Int64))
        return decoded.with_columns((value * unit).alias(WRITTEN_TIME))
