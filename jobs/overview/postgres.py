"""What a run's PostgreSQL tables say: summed up by the database, anew each time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, LiteralString, TypeVar

import polars as pl
import psycopg
from psycopg import sql

from jobs.overview.batch_times import BatchTimes
from jobs.overview.counting import DEAD, METRICS, dead_of, lanes_of, results_of
from jobs.overview.files import AT, BATCH
from jobs.overview.totals import Dead, LaneCounts, Results

_ROWS: Final = (
    "select batch_id, query, count(*), count(*) filter (where pane = 'late' and {}),"
    " min((extract(epoch from window_end) * 1000000)::bigint + lag_us)"
    "  filter (where isfinite(window_end))"
    " from {} where run = %s group by batch_id, query"
)
_LANES: Final = (
    "select batch_id, lane, max(read), sum(dropped)::bigint, max(progress_us), bool_or(ended)"
    " from {} where run = %s group by batch_id, lane order by batch_id"
)
_LETTERS: Final = (
    'select batch_id, source, partition, "offset", reason, value from {} where run = %s'
)

Sums = TypeVar("Sums")


@dataclass
class PostgresTables:
    """The tables of a run in a schema; the connection is libpq's, from the environment.

    Args:
        schema: the sink's.
        run: the run.

    Attributes:
        times: when batches were written.
        problems: what could not be read, and why.
    """

    schema: str
    run: str
    times: BatchTimes = field(default_factory=BatchTimes)
    problems: list[str] = field(default_factory=list)

    def results(self, tables: Sequence[str]) -> dict[str, Results]:
        """Count what is in tables of results; one that cannot be read is left out."""
        found = {name: self._asked(partial(self._results, name)) for name in tables}
        return {name: one for name, one in found.items() if one is not None}

    def lanes(self) -> LaneCounts | None:
        """Count what is in the table of metrics; None: it cannot be read."""
        return self._asked(self._lanes)

    def dead(self) -> Dead | None:
        """Count what is in the table of dead letters; None: it cannot be read."""
        return self._asked(self._dead)

    def _results(self, table: str) -> Results:
        takes_back = "op" in self._columns(table)
        keeps = sql.SQL("op is null" if takes_back else "true")
        numbers = dict.fromkeys(("rows", "revisions", AT), pl.Int64)
        each = self._frame(_ROWS, table, {BATCH: pl.Int64, "query": pl.String, **numbers}, keeps)
        return results_of(each, each.clear(), self.times)

    def _lanes(self) -> LaneCounts:
        schema = {name: type_ for name, type_ in METRICS.items() if name != "query"}
        return lanes_of(self._frame(_LANES, "metrics", schema), self.times)

    def _dead(self) -> Dead:
        return dead_of(self._frame(_LETTERS, "dead_letters", DEAD), self.times)

    def _columns(self, table: str) -> set[str]:
        query = sql.SQL("select * from {} limit 0").format(sql.Identifier(self.schema, table))
        with psycopg.connect() as connection:
            described = connection.execute(query).description or ()
            return {column.name for column in described}

    def _frame(
        self,
        text: LiteralString,
        table: str,
        schema: Mapping[str, Any],
        *parts: sql.Composable,
    ) -> pl.DataFrame:
        query = sql.SQL(text).format(*parts, sql.Identifier(self.schema, table))
        with psycopg.connect(options="-c TimeZone=UTC") as connection:
            rows = connection.execute(query, [self.run]).fetchall()
        return pl.DataFrame(rows, schema=dict(schema), orient="row")

    def _asked(self, read: Callable[[], Sums]) -> Sums | None:
        """Return what is read; None, with a problem, if the database refuses."""
        try:
            return read()
        except psycopg.Error as error:
            said = str(error).strip().splitlines() or [type(error).__name__]
            problem = f"PostgreSQL, schema {self.schema}: {said[0]}: set PGHOST, PGUSER, …"
            if problem not in self.problems:
                self.problems.append(problem)
            return None
