"""A custom format: `ts=5;at=pier;level=-3`, with another separator if the file says so.

One file registers all: what a pipeline file says, both halves of the engine's decoder, what a value
means for `verify`, and how the simulator writes one.
"""

import json
import re
from dataclasses import dataclass
from typing import Any

import polars as pl

from chaos.simulator.draw.log import format_draw
from windowing.engine.columns import WRITTEN_TIME, field_column
from windowing.engine.reading.decoders.decoder import (
    Decoded,
    Decoder,
    decoder,
)
from windowing.engine.reading.objects import BadValue
from windowing.engine.reading.rules import ValueRules
from windowing.model.reading import value_format
from windowing.semantics.formats import format_definition


@value_format("pairs")
@dataclass(frozen=True)
class Pairs:
    """What is under `format: {pairs: …}`."""

    between: str = ";"

    @classmethod
    def parse(cls, settings: Any) -> "Pairs":
        """Read the separator."""
        pairs = cls(**(settings or {}))
        if len(pairs.between) != 1 or pairs.between == "=":
            raise ValueError(f"between {pairs.between!r}: give one character, such as ;")
        return pairs


def scalar(text: str, kind: str | None) -> Any:
    """Give what a text stands for: a number where one is wanted, nothing for nothing."""
    if text == "":
        return None
    if kind == "int":
        digits = text.removeprefix("-")
        return int(text) if digits.isascii() and digits.isdecimal() and len(digits) < 30 else text
    if kind == "float":
        try:
            return float(text)
        except ValueError:
            return text
    return text


@decoder("pairs")
class PairsDecoder(Decoder):
    """The engine's: exactly, and by column where all values have the same names in order."""

    rule = "a value is NAME=TEXT;NAME=TEXT in UTF-8"

    def __init__(self, pairs: Pairs, wanted: dict[str, str]) -> None:
        self._between, self._wanted = pairs.between, wanted

    def exact(self, value: bytes) -> dict[str, Any]:
        """Split a value at its separators."""
        try:
            parts = value.decode("utf-8").split(self._between)
        except UnicodeDecodeError:
            raise BadValue("malformed") from None
        if not all("=" in part for part in parts):
            raise BadValue("malformed")
        found = dict(part.split("=", 1) for part in parts)
        return {name: scalar(text, self._wanted.get(name)) for name, text in found.items()}

    def columns(self, values: pl.Series, rules: ValueRules) -> Decoded | None:
        """Read by one regular expression; whatever is not plain is left to the exact half."""
        if any(not name.isidentifier() for name in self._wanted):
            return None
        kinds = {"int": "-?[0-9]{1,18}", "string": f"[^{re.escape(self._between)}=]+"}
        if not all(kind in kinds for kind in self._wanted.values()):
            return None
        try:
            texts = values.cast(pl.String)
        except pl.exceptions.ComputeError:
            return None  # not all are text
        pattern = re.escape(self._between).join(
            f"{n}=({kinds[k]})" for n, k in self._wanted.items()
        )
        groups = texts.str.extract_groups(f"^{pattern}$").struct
        dtypes = {"int": pl.Int64, "string": pl.String}
        columns = {
            name: groups.field(str(place)).cast(dtypes[kind], strict=False)
            for place, (name, kind) in enumerate(self._wanted.items(), 1)
        }
        time = rules.event_time
        if time.unit == "iso":
            return None
        named = [columns[time.field].alias(WRITTEN_TIME)]
        named += [columns[name].alias(field_column(name)) for name in rules.fields]
        matched = columns[time.field].is_not_null()
        return Decoded(matched, pl.DataFrame(named))


@format_definition("pairs")
def meaning(pairs: Pairs, wanted: dict[str, str]) -> Any:
    """What a value means: one text after the other, whatever the engine does."""

    def decode(value: bytes | None) -> dict[str, Any] | None:
        members = {}
        try:
            text = (value or b"").decode("utf-8")
        except UnicodeDecodeError:
            return None
        for part in text.split(pairs.between):
            name, there, said = part.partition("=")
            if not there:
                return None
            members[name] = scalar(said, wanted.get(name))
        return members

    return decode


@format_draw("pairs")
def written(pairs: Pairs, members: dict[str, Any]) -> str:
    """Write a drawn value; what is no scalar is text that no field can be."""
    texts = {
        name: "" if value is None else value if isinstance(value, str) else json.dumps(value)
        for name, value in members.items()
    }
    return pairs.between.join(f"{name}={text}" for name, text in texts.items())
