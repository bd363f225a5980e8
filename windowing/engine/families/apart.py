"""Rows of families, apart: those of each of its queries."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import polars as pl

from windowing.engine.columns import VALUES
from windowing.engine.families.due_rows import MEMBER
from windowing.engine.families.family import MARK, Family, Variant
from windowing.engine.families.forming import families_of
from windowing.model import Pipeline


class RowsByQuery:
    """Divides the rows that shards emit for families, by query.

    Args:
        pipeline: the pipeline of the rows.
    """

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline

    @cached_property
    def families(self) -> dict[str, Family]:
        """The families of the pipeline, by name; a plan may have some of them."""
        return families_of(self._pipeline)

    def family(self, flow: str) -> Family | None:
        """Return the family of this name; None: it is a query's, or a join's."""
        return self.families[flow] if flow.startswith(MARK) else None

    def of(self, flow: str, frame: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
        """Yield the rows of each query that has any, with its name.

        Args:
            flow: the name of a query, a join or a family.
            frame: its rows.
        """
        family = self.family(flow)
        if family is None:
            yield flow, frame
            return
        by_member = {number: rows for (number,), rows in frame.group_by(MEMBER)}
        for variant in family.variants:
            rows = by_member.get(variant.member)
            if rows is not None:
                own = rows.drop(MEMBER).with_columns(shown(rows, variant))
                for name in variant.names:
                    yield name, own


def shown(rows: pl.DataFrame, variant: Variant) -> pl.Series:
    """Return the values that queries show, of rows of their family.

    Args:
        rows: with the values of all aggregates.
        variant: the queries.
    """
    values = rows[VALUES].struct
    columns = [values.field(own).alias(name) for name, own in variant.shows]
    return pl.DataFrame(columns).to_struct(VALUES)
