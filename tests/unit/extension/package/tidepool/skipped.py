"""A custom fate: records with some value are `skipped`, whatever their windows.

One file registers all: what a pipeline file says and the fate, both halves of the engine's step,
and what it means for `verify`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl

from windowing.engine.columns import FATE, field_column
from windowing.engine.reading.steps import Draft, Step, step_part
from windowing.model.fates import Fate
from windowing.model.reading import reading_step
from windowing.semantics.formats import step_definition


@reading_step("skipped")
@dataclass(frozen=True)
class Skipped:
    """What is under `skipped:` in a source: a field, and the value that nobody wants."""

    field: str
    value: Any

    fate: ClassVar[Fate] = Fate("skipped", "of no interest, as the source says")

    @classmethod
    def parse(cls, settings: Any) -> "Skipped":
        """Read the field and its value."""
        if not isinstance(settings, dict) or len(settings) != 1:
            raise ValueError(f"{settings!r}: name one field and its value, as {{level: 0}}")
        ((field, value),) = settings.items()
        return cls(field, value)


@step_part("skipped")
class SkippedStep(Step):
    """The engine's: a value at a time, and by column."""

    def __init__(self, skipped: Skipped) -> None:
        self._skipped = skipped

    def exact(self, draft: Draft) -> None:
        """Withhold one record."""
        if draft.fields[self._skipped.field] == self._skipped.value:
            draft.fate = draft.fate or self._skipped.fate

    def columns(self, there: Iterable[str]) -> Mapping[str, pl.Expr]:
        """Withhold many."""
        named = pl.col(field_column(self._skipped.field)) == self._skipped.value
        own = pl.when(named).then(pl.lit(self._skipped.fate.name))
        return {FATE: pl.coalesce(FATE, own)}


@step_definition("skipped")
def meaning(skipped: Skipped) -> Callable[[int, Mapping[str, Any]], Fate | None]:
    """What it means, for `verify`."""
    return lambda _, fields: skipped.fate if fields[skipped.field] == skipped.value else None
