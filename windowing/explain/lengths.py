"""How lengths of a windowing attribute are written."""

from __future__ import annotations

from windowing.model.file.pipeline import Source
from windowing.model.lengths import spell_us
from windowing.model.windows.window import ROW_NUM, Spell


def speller(attribute: str, source: Source) -> Spell:
    """How lengths of the windowing attribute are written."""
    if attribute == ROW_NUM:
        return lambda length: f"{length} row" + "s" * (length != 1)
    if attribute == source.event_time.field:
        return lambda length: "0" if length == 0 else "-" * (length < 0) + spell_us(abs(length))
    return str
