"""JSON objects as values: exactly, and fast for uniform and for clean ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from windowing.engine.reading.decoders.clean import decode_clean
from windowing.engine.reading.decoders.decoder import Decoded, Decoder, decoder
from windowing.engine.reading.decoders.uniform import decode_uniform
from windowing.engine.reading.objects import parse_object
from windowing.engine.reading.rules import ValueRules
from windowing.model.fields import Kind


@decoder("json")
class JsonDecoder(Decoder):
    """Objects, in UTF-8."""

    rule = "a value is one JSON object in UTF-8"

    def __init__(self, settings: None, wanted: Mapping[str, Kind]) -> None:
        del settings, wanted

    def exact(self, value: bytes) -> dict[str, Any]:
        """Return an object's members."""
        return parse_object(value)

    def columns(self, values: pl.Series, rules: ValueRules) -> Decoded | None:
        """Read the values that have the layout of most."""
        return decode_uniform(values, rules)

    def records(self, values: Sequence[bytes | None], rules: ValueRules) -> pl.DataFrame | None:
        """Read values into structs of the declared fields."""
        return decode_clean(values, rules)
