"""Queries of a pipeline: as written in the file, and with all defaults applied."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Protocol

from pydantic import BeforeValidator, Field

from windowing.model.emission import Accumulation, Early, Retention, parse_retention
from windowing.model.fields import FieldType, ValueType, value_type
from windowing.model.flow import StreamFlow
from windowing.model.late import Late
from windowing.model.source import SpecModel

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


class Flow(Protocol):
    """What is asked of any flow of a pipeline: of a query, and of a join.

    Whoever needs a window or aggregates asks queries alone, and says what a join gets instead.
    """

    @property
    def name(self) -> str:
        """The name in every row, in the counts, and in messages."""

    @property
    def attribute(self) -> str:
        """What orders the records, and is asked whether one is late: a field, or `row_num`."""

    @property
    def key(self) -> tuple[str, ...]:
        """The fields that make up a row's key, in their order."""

    @property
    def shows(self) -> tuple[str, ...]:
        """The names of a row's values, in the order of its columns."""

    def value_types(self, fields: Mapping[str, FieldType]) -> dict[str, ValueType]:
        """Give the types of a row's values.

        Args:
            fields: of the pipeline's source.
        """

    @property
    def marks(self) -> tuple[str, ...]:
        """The columns that tables have for marks which only some rows have."""

    @property
    def late(self) -> Late:
        """What becomes of late records."""

    @property
    def retention_us(self) -> int | None:
        """How long late records are taken; None: forever, or none is."""

    @property
    def entries_max(self) -> int | None:
        """How many entries of state a shard may hold; None: any number."""

    @property
    def accumulation(self) -> Accumulation:
        """What later rows show."""


class Query(StreamFlow):
    """A flow of a pipeline, all defaults applied.

    Attributes:
        name: the query's name in the file and in every row.
    """

    name: str

    @property
    def shows(self) -> tuple[str, ...]:
        """The names of a row's values, in the order of its columns."""
        return tuple(aggregate.name for aggregate in self.aggregates)

    def value_types(self, fields: Mapping[str, FieldType]) -> dict[str, ValueType]:
        """Give the types of a row's values; a class of the user's is imported for its own.

        Args:
            fields: of the pipeline's source.

        Raises:
            UserAggregateError: a class cannot be used.
        """
        return {aggregate.name: value_type(aggregate, fields) for aggregate in self.aggregates}

    @property
    def marks(self) -> tuple[str, ...]:
        """The columns that tables have for marks which only some rows have."""
        retracting, merging = self.accumulation == "retracting", self.window.traits.merging
        return (*(["op"] if retracting else []), *(["absorbed_by"] if merging else []))
