"""Decoders of formats: what each does with a value alone, and with many at once.

A format's entry here is the engine's half of one in `windowing.model.reading`. It must have the
exact half. The fast halves are another way to the same records: whatever they leave out or refuse
is read exactly.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, TypeVar

import polars as pl

from windowing.engine.reading.rules import ValueRules
from windowing.model.fields import ValueType
from windowing.model.registry import Registry
from windowing.model.types import PRECISION_MAX, FieldType, Kind

_DTYPES: Final = {
    "int": pl.Int64(),
    "float": pl.Float64(),
    "string": pl.String(),
    "bool": pl.Boolean(),
    "timestamp": pl.Int64(),
    "date": pl.String(),
}


def dtype_of(type_: FieldType | ValueType) -> pl.DataType:
    """Return the type of the column of a field, or of a result; of a list, of its elements."""
    if type_.kind == "decimal":
        return pl.Decimal(PRECISION_MAX, type_.scale)
    return _DTYPES[type_.kind]


@dataclass(frozen=True)
class Decoded:
    """What was read of values by column.

    Attributes:
        matched: of each value, whether it was read.
        columns: a row per value: `WRITTEN_TIME`, and a column for each declared field that the
            values have, of its type: timestamps in microseconds, dates as text.
    """

    matched: pl.Series
    columns: pl.DataFrame


class Decoder(ABC):
    """A format's decoder for one source.

    It is made of the format's data, and the kinds of the event time and of the declared fields, by
    name.

    Attributes:
        rule: what a value is that is not `malformed`, in words.
    """

    rule: ClassVar[str] = "a value of the source's format"

    @abstractmethod
    def exact(self, value: bytes) -> dict[str, Any]:
        """Return the members of one value: text, integers, floats, booleans, None, or other things.

        Numbers with a fraction may be `Decimal`, and for fields of decimals they have to be.

        Raises:
            BadValue: `malformed`.
        """

    def columns(self, values: pl.Series, rules: ValueRules) -> Decoded | None:
        """Return what can be read by column of many values; None: of too few."""
        del values, rules
        return None

    def records(self, values: Sequence[bytes | None], rules: ValueRules) -> pl.DataFrame | None:
        """Return all of some values as columns, as `Decoded` has them; None: one is doubtful."""
        del values, rules
        return None


Make = Callable[[Any, Mapping[str, Kind]], Decoder]

DECODERS: Final = Registry[Make]("decoder", "decoders")
"""The engine's half of every format, by its name."""

_Class = TypeVar("_Class", bound=type[Decoder])


def decoder(name: str) -> Callable[[_Class], _Class]:
    """Register the decorated class as the engine's half of the format of this name.

    Raises:
        PluginError: the name is taken.
    """
    return DECODERS.entry(name)
