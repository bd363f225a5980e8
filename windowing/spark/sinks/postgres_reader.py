"""What jobs and people read of a run in PostgreSQL: summed up by the database, anew each time."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, LiteralString

import psycopg
from psycopg import sql
from psycopg.rows import dict_row

from windowing.spark.sinks.reader import OutputUnreadable

_RESULTS: Final = (
    "select batch_id, query, count(*), count(*) filter (where pane = 'late' and {}),"
    " min((extract(epoch from window_end) * 1000000)::bigint + lag_us)"
    "  filter (where isfinite(window_end))"
    " from {} where run = %s group by batch_id, query"
)
_LANES: Final = (
    "select batch_id, lane, max(read), sum(dropped)::bigint, max(progress_us), bool_or(ended){}"
    " from {} where run = %s group by batch_id, lane order by batch_id"
)
_LETTERS: Final = (
    'select batch_id, source, partition, "offset", reason, value from {} where run = %s'
)
_REMEDY: Final = "set PGHOST, PGUSER, …"
_HAS_RUN: Final = "; has the job run?"


@dataclass(frozen=True)
class PostgresReader:
    """Reads what a run has in a schema; the connection is libpq's, from the environment."""

    schema: str
    run: str

    def dead_letters(self) -> list[dict[str, Any]]:
        """Return the rows of the dead letters."""
        statement = sql.SQL("select * from {} where run = %s").format(self._named("dead_letters"))
        with self._connected(_HAS_RUN) as connection:
            return connection.cursor(row_factory=dict_row).execute(statement, [self.run]).fetchall()

    def read_counts(self) -> list[tuple[str, int]]:
        """Return how many records each query read, batch by batch and lane by lane."""
        return self._asked(
            "select query, read from {} where run = %s", "metrics", question=_HAS_RUN
        )

    def dataset(self, table: str) -> tuple[str, str]:
        """Return namespace and name of a table as OpenLineage names data sets."""
        host, port = os.environ.get("PGHOST", "localhost"), os.environ.get("PGPORT", "5432")
        database = os.environ.get("PGDATABASE", "")
        return f"postgres://{host}:{port}", f"{database}.{self.table(table)}"

    def table(self, name: str) -> str:
        """Return the full name of a table, for people."""
        return f"{self.schema}.{name}"

    def results(self, table: str) -> list[tuple[Any, ...]]:
        """Return batch, query, rows, revisions and the time of the first row written, if known."""
        keeps = sql.SQL("op is null" if "op" in self._columns(table) else "true")
        return self._asked(_RESULTS, table, keeps)

    def lanes(self, fates: Sequence[str]) -> list[tuple[Any, ...]]:
        """Return batch, lane, records read, late ones dropped, progress, and whether it ended.

        Then, for each of some fates, how many records have it.
        """
        found = [sql.SQL(", max({})").format(sql.Identifier(name)) for name in fates]
        return self._asked(_LANES, "metrics", sql.Composed(found))

    def letters(self) -> list[tuple[Any, ...]]:
        """Return batch, source, partition, offset, reason and value of each dead letter."""
        return self._asked(_LETTERS, "dead_letters")

    def _asked(
        self, text: LiteralString, table: str, *parts: sql.Composable, question: str = ""
    ) -> list[tuple[Any, ...]]:
        query = sql.SQL(text).format(*parts, self._named(table))
        with self._connected(question) as connection:
            return connection.execute(query, [self.run]).fetchall()

    def _columns(self, table: str) -> set[str]:
        query = sql.SQL("select * from {} limit 0").format(self._named(table))
        with self._connected() as connection:
            return {column.name for column in connection.execute(query).description or ()}

    def _named(self, table: str) -> sql.Identifier:
        return sql.Identifier(self.schema, table)

    @contextmanager
    def _connected(self, question: str = "") -> Iterator[psycopg.Connection]:
        """Provide a connection; its errors become a sentence, with `question` at its end."""
        try:
            with psycopg.connect(options="-c TimeZone=UTC") as connection:
                yield connection
        except psycopg.Error as error:
            said = str(error).strip().splitlines() or [type(error).__name__]
            msg = f"PostgreSQL, schema {self.schema}: {said[0]}: {_REMEDY}{question}"
            raise OutputUnreadable(msg) from None
