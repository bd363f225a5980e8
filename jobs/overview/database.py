"""What a run's tables in a database say: the database adds it up, anew each time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import polars as pl

from jobs.overview.buckets import BatchTimes
from jobs.overview.counting import DEAD, METRICS, dead_of, lanes_of, results_of
from jobs.overview.files import AT, BATCH
from jobs.overview.totals import DeadLetterTotals, LaneCounts, Results
from jobs.runs.folder import Run
from windowing.model import Pipeline
from windowing.model.fates import before_windows, names
from windowing.model.registry import PluginError
from windowing.spark.sinks import reader_of
from windowing.spark.sinks.reader import OutputUnreadable, SumsReader

_Found = TypeVar("_Found")


@dataclass
class DatabaseTables:
    """The tables of a run in a system that adds up what is in them, anew each time.

    Attributes:
        before: the first batch to leave out, which a job may be writing; None: none.
        fates: the names of those that windows have no part in.
        times: when batches were written.
        problems: what could not be read, and why.
    """

    reader: SumsReader
    before: int | None = None
    fates: Sequence[str] = ()
    times: BatchTimes = field(default_factory=BatchTimes)
    problems: list[str] = field(default_factory=list)

    def results(self, tables: Sequence[str]) -> dict[str, Results]:
        """Count what is in tables of results; one that cannot be read is left out."""
        found = {name: self._asked(partial(self._results, name)) for name in tables}
        return {name: one for name, one in found.items() if one is not None}

    def lanes(self) -> LaneCounts | None:
        """Count what is in the table of metrics; None: it cannot be read."""
        return self._asked(self._lanes)

    def dead(self) -> DeadLetterTotals | None:
        """Count what is in the table of dead letters; None: it cannot be read."""
        return self._asked(self._dead)

    def place(self, table: str) -> str:
        """Return where a table is, for people."""
        return self.reader.table(table)

    def _results(self, table: str) -> Results:
        numbers = dict.fromkeys(("rows", "revisions", AT), pl.Int64)
        each = self._frame(
            self.reader.results(table), {BATCH: pl.Int64, "query": pl.String, **numbers}
        )
        return results_of(each, each.clear(), self.times)

    def _lanes(self) -> LaneCounts:
        schema = {name: type_ for name, type_ in METRICS.items() if name != "query"}
        schema |= dict.fromkeys(self.fates, pl.Int64)
        rows = self.reader.lanes(self.fates)
        return lanes_of(self._frame(rows, schema), self.times, self.fates)

    def _dead(self) -> DeadLetterTotals:
        return dead_of(self._frame(self.reader.letters(), DEAD), self.times)

    def _asked(self, read: Callable[[], _Found]) -> _Found | None:
        try:
            return read()
        except OutputUnreadable as error:
            if str(error) not in self.problems:
                self.problems.append(str(error))
            return None

    def _frame(self, rows: Sequence[tuple[Any, ...]], schema: dict[str, Any]) -> pl.DataFrame:
        found = pl.DataFrame(rows, schema=schema, orient="row")
        return found if self.before is None else found.filter(pl.col(BATCH) < self.before)


def database_tables(
    pipeline: Pipeline, run: Run, before: int | None = None
) -> DatabaseTables | None:
    """Return the tables of a run; None: its sink adds nothing up, or its plug-in is not here."""
    try:
        reader = reader_of(pipeline, run.table, run.run)
    except PluginError:
        return None
    fates = names(before_windows(pipeline.source.fates))
    return DatabaseTables(reader, before, fates) if isinstance(reader, SumsReader) else None
