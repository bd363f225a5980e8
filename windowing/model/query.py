"""Queries of a pipeline: as written in the file, and with all defaults applied."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from windowing.model.emission import Accumulation, Early, Retention, parse_retention
from windowing.model.flow import StreamFlow
from windowing.model.late import Late
from windowing.model.source import SpecModel

Kept = Annotated[Retention, BeforeValidator(parse_retention)]


class QueryFile(SpecModel):
    """A query as written in the file, before defaults."""

    window: str | dict[str, Any]
    group_by: list[str] = Field(default_factory=list)
    aggregates: dict[str, Any]
    late: Late | None = None
    retention: Kept | None = None
    early: Early | None = None
    accumulation: Accumulation | None = None


class Query(StreamFlow):
    """A flow of a pipeline, all defaults applied.

    Attributes:
        name: the query's name in the file and in every row.
    """

    name: str

    @property
    def marks(self) -> tuple[str, ...]:
        """The extra columns of its tables, which only some rows fill."""
        retracting, merging = self.accumulation == "retracting", self.window.traits.merging
        return (*(["op"] if retracting else []), *(["absorbed_by"] if merging else []))
