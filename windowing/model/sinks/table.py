"""The rules of Delta tables: they hold whatever a pipeline may have."""

from __future__ import annotations

from typing import Final

from windowing.model.sinks.rules import SinkRules

RULES: Final = SinkRules("Delta tables")
"""Of `sink: {table: NAME}`."""
