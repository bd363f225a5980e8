"""Queries of a pipeline: as they stand in the file, and with all defaults applied."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from windowing.model.emission import Accumulation, Early, Retention, parse_retention
from windowing.model.fields import Aggregate
from windowing.model.late import Late
from windowing.model.source import SpecModel
from windowing.model.windows.window import Window

Kept = Annotated[Retention, BeforeValidator(parse_retention)]


class QueryFile(SpecModel):
    """A query as it stands in the file."""

    window: str | dict[str, Any]
    group_by: list[str] = Field(default_factory=list)
    aggregates: dict[str, Any]
    late: Late | None = None
    retention: Kept | None = None
    early: Early | None = None
    accumulation: Accumulation | None = None


class Query(SpecModel):
    """One window over the stream and the aggregates of its extents; all defaults applied.

    Attributes:
        name: the query's name in the file and in every row.
        window: the window.
        group_by: fields that make up the row's key, in this order.
        aggregates: in the order of the file.
        late: what becomes of late records.
        retention_us: how long after its end a window takes late records; None unless `update`.
        entries_max: how many partial states a shard may hold of it; None: any number.
        early: provisional rows, if any.
        accumulation: what later revisions show.
    """

    name: str
    window: Window
    group_by: tuple[str, ...]
    aggregates: tuple[Aggregate, ...]
    late: Late
    retention_us: int | None
    entries_max: int | None = None
    early: Early | None = None
    accumulation: Accumulation = "accumulating"

    @property
    def key(self) -> tuple[str, ...]:
        """The fields that make up a row's key: PATTR, then those of `group_by`."""
        return (*([self.window.pattr] if self.window.pattr else []), *self.group_by)

    @property
    def marks(self) -> tuple[str, ...]:
        """The columns that tables have for marks which only some rows have."""
        retracting, merging = self.accumulation == "retracting", self.window.traits.merging
        return (*(["op"] if retracting else []), *(["absorbed_by"] if merging else []))
