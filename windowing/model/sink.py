"""Where the rows of a pipeline go, as data."""

from __future__ import annotations

from pydantic import model_validator

from windowing.model.names import SchemaName, TableName
from windowing.model.source import SpecModel


class Sink(SpecModel):
    """Where rows go: one of these.

    Attributes:
        table: Delta tables in a folder of this name under the tables' folder.
        postgres: PostgreSQL tables in a schema of this name.
    """

    table: TableName | None = None
    postgres: SchemaName | None = None

    @model_validator(mode="after")
    def _one(self) -> Sink:
        if (self.table is None) == (self.postgres is None):
            msg = "name one place: sink: {table: NAME} or sink: {postgres: NAME}"
            raise ValueError(msg)
        return self

    @property
    def name(self) -> str:
        """The name of the folder or schema."""
        return self.table or self.postgres or ""
