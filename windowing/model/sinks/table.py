"""The rules of Delta tables: they can hold anything that a pipeline produces."""

from __future__ import annotations

from typing import Final

from windowing.model.sinks.rules import SinkRules

RULES: Final = SinkRules("Delta tables", takes_one=True)
"""The rules of `sink: {table: NAME}`."""
