"""The PostgreSQL sink: a batch's rows and its token in one transaction, exactly once.

A pipeline has a schema of the sink's name, with a table per query (or `results` for all),
`dead_letters` and `metrics` like the table sink; structs are flattened into columns (key fields,
then aggregates) and offsets are JSON. `commits` holds the last batch of each run, whose row
serialises a zombie and its successor, and `tokens` the token of each batch (see `adr/0014`): the
same batch again is ignored, another one under its number is refused. A view `TABLE_newest` shows
the live run's newest rows. The connection is libpq's, from the environment: PGHOST, PGPORT, …
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, LiteralString

import psycopg
import pyarrow as pa
from psycopg import sql

from windowing.model import Pipeline
from windowing.model.run_errors import TableConflict
from windowing.runtime.token import Kept, Tables, Token, admit
from windowing.spark.sinks.growth import refusal
from windowing.spark.sinks.postgres_reader import PostgresReader
from windowing.spark.sinks.postgres_tables import (
    COMMITS,
    ROW_ID,
    additions,
    columns_added,
    conflicts,
    definitions,
    flat,
    latest_views,
    note_live,
    tables_in,
    typed,
    view_names,
    views_of_latest,
    wanted,
)
from windowing.spark.sinks.rows import DEAD_LETTERS, METRICS, BatchRows, in_microseconds, schemas
from windowing.spark.sinks.sink import FolderOf, RunPlace, SinkUnreachable, sink
from windowing.spark.sinks.tokens import (
    TOKEN_SCHEMA,
    TOKENS,
    Frames,
    TokenOf,
    token_of_batch,
    token_rows,
    tokens_of,
)
from windowing.spark.sinks.written import OnWritten, ignore, written

if TYPE_CHECKING:  # rows are also built and checked without Spark
    from pyspark.sql import DataFrame

# Days and the rest separately: PostgreSQL multiplies intervals in floating point.
_INSTANT: LiteralString = (
    "timestamptz 'epoch' + make_interval(days => (({0}) / 86400000000)::int)"
    " + (({0}) % 86400000000) * interval '1 microsecond'"
)
_STAGED: Mapping[str, LiteralString] = {"timestamptz": "bigint", "timestamptz[]": "bigint[]"}
"""How columns are sent that become other ones in the database."""
_UNSTAGED: Mapping[str, LiteralString] = {
    "timestamptz": _INSTANT,
    "timestamptz[]": (
        "(select array_agg(timestamptz 'epoch' + make_interval(days => (us / 86400000000)::int)"
        " + (us % 86400000000) * interval '1 microsecond' order by at)"
        " from unnest({0}) with ordinality as one(us, at))"
    ),
}
_IDENTITY = {
    DEAD_LETTERS: ("run", "source", "partition", "offset", "query"),
    METRICS: ("run", "lane", "query", "batch_id"),
}
_RESULT_IDENTITY = ("run", "window_id", "pane", "revision", "op", "key")


@sink("postgres")
class PostgresSink:
    """The writer of one run's batches; creates missing schema and tables.

    Args:
        pipeline: whose rows they are; its sink names the schema.
        run: the identity of the checkpoint; another run never collides with this one.
        token_of: returns the token of a batch; None: derive it from the lanes' metrics.
        is_live: whether views show this run; called before each batch.
        on_written: called with each batch that is written.

    Raises:
        TableConflict: existing tables cannot take such rows; none was changed.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        schema: str,
        run: str,
        token_of: TokenOf | None = None,
        is_live: Callable[[], bool] = lambda: True,
        *,
        on_written: OnWritten = ignore,
    ) -> None:
        self._rows, self._schema, self._run = BatchRows(pipeline, run), schema, run
        self._pipeline, self._token_of, self._on_written = pipeline, token_of, on_written
        self._names, one = [*pipeline.tables], pipeline.destination.layout == "one"
        self._identity = (*_RESULT_IDENTITY, "query") if one else _RESULT_IDENTITY
        self._is_live = is_live
        self._shown_live: bool | None = None
        with _connection() as connection:
            # Two drivers may start at once, and "if not exists" is not a lock.
            connection.execute("select pg_advisory_xact_lock(hashtext(%s))", [schema])
            have, want = tables_in(connection, schema), wanted(pipeline)
            if clashes := conflicts(have, want):
                raise TableConflict(refusal(f"PostgreSQL schema {schema}", clashes))
            for statement in (
                *definitions(pipeline, schema),
                *columns_added(schema, have, want),
                *views_of_latest(connection, schema, self._names),
            ):
                connection.execute(statement)
            self._has_views = is_live()
            if self._has_views:
                self._show(connection)

    @classmethod
    def open(cls, place: RunPlace) -> PostgresSink:
        """Open the sink of a run, creating missing schema and tables."""
        schema = place.pipeline.output
        return cls(
            place.pipeline,
            schema,
            place.run,
            place.token_of,
            place.is_live,
            on_written=place.on_written,
        )

    @classmethod
    def kept(cls, pipeline: Pipeline, folder: Path, run: str, since: int = 0) -> Tables:
        """Return the record of a run in the pipeline's schema.

        A batch is one transaction, so `commits` is true of every existing table.
        """
        del folder
        schema, batch, tokens = pipeline.output, None, dict[int, Token]()
        with _connection() as connection:
            there = {name: _exists(connection, schema, name) for name in schemas(pipeline)}
            if _exists(connection, schema, COMMITS):
                last = sql.SQL("select batch_id from {} where run = %s")
                last_of = last.format(sql.Identifier(schema, COMMITS))
                found = connection.execute(last_of, [run]).fetchone()
                batch = int(found[0]) if found else None
            if _exists(connection, schema, TOKENS):
                tokens = _tokens(connection, schema, run, "batch_id >= %s", [since])
        tables = {name: Kept(batch) if exists else None for name, exists in there.items()}
        return Tables(f"PostgreSQL schema {schema}", tokens, tables)

    @classmethod
    def reader(cls, pipeline: Pipeline, folder: Path, run: str) -> PostgresReader:
        """Return the reader of a run in the pipeline's schema."""
        del folder
        return PostgresReader(pipeline.output, run)

    @classmethod
    def clashes(cls, pipeline: Pipeline, name: str, folder_of: FolderOf) -> list[str]:
        """Return why the tables of a schema cannot take a pipeline's rows."""
        del folder_of
        with _answering(), _connection() as connection:
            return conflicts(tables_in(connection, name), wanted(pipeline))

    @classmethod
    def additions(cls, pipeline: Pipeline, name: str, folder_of: FolderOf) -> list[str]:
        """Return what a pipeline adds to the tables of a schema."""
        del folder_of
        with _answering(), _connection() as connection:
            have = tables_in(connection, name)
        return additions(have, wanted(pipeline)) if have else []

    @classmethod
    def latest(cls, pipeline: Pipeline) -> str:
        """Return a sentence about the views beside the tables."""
        views = ", ".join(f'{pipeline.output}."{name}"' for name in view_names(pipeline)) or "none"
        return (
            f"the rows of {pipeline.name} are in PostgreSQL; its views of the newest rows: {views}"
        )

    def _show(self, connection: psycopg.Connection) -> None:
        """Make the views show this run; a shadow run may have other keys."""
        names = [*self._names, *view_names(self._pipeline)]
        for statement in latest_views(self._pipeline, self._schema):
            connection.execute(statement)
        for statement in views_of_latest(connection, self._schema, names):
            connection.execute(statement)

    def write(self, batch: DataFrame, batch_id: int) -> None:
        """Write one batch; for `foreachBatch`.

        Raises:
            TokenMismatch: the tables and the job's checkpoint do not belong together.
        """
        # Spark must execute the whole batch, even if its rows are already there.
        self.take(batch.collect(), batch_id)

    def take(self, frames: Frames, batch_id: int) -> None:
        """Write one batch's frames, each with its kind, its query and its bytes.

        Raises:
            TokenMismatch: the tables and the job's checkpoint do not belong together.
        """
        token = token_of_batch(self._pipeline, frames, batch_id, self._token_of)
        tables = self._rows.tables(frames, batch_id)
        with _connection() as connection:
            fresh, live = self._take_token(connection, token), self._is_live()
            if live != self._shown_live:
                note_live(connection, self._schema, self._run, live=live)
            if live and not self._has_views:
                self._show(connection)
            if fresh:
                for name, rows in tables.items():
                    self._upsert(connection, name, rows)
        self._shown_live, self._has_views = live, live
        self._on_written(written(batch_id, tables))

    def _take_token(self, connection: psycopg.Connection, token: Token) -> bool:
        """Return whether the batch must be written; its row stays locked until the end.

        Raises:
            TokenMismatch: the tables hold another batch, or do not end where this one begins.
        """
        # The row is locked even if it stays unchanged.
        taken = sql.SQL(
            "insert into {} as c (run, batch_id) values (%s, %s) on conflict (run)"
            " do update set batch_id = excluded.batch_id where c.batch_id < excluded.batch_id"
        ).format(sql.Identifier(self._schema, COMMITS))
        fresh = connection.execute(taken, [self._run, token.batch_id]).rowcount == 1
        table = sql.Identifier(self._schema, TOKENS)
        around = "batch_id in (%s, (select max(batch_id) from {0} where run = %s))"
        which = [token.batch_id, self._run]
        held = _tokens(connection, self._schema, self._run, around, which)
        admit(token, held, f"PostgreSQL schema {self._schema} of run {self._run}")
        if fresh:
            rows = token_rows(self._run, token)
            values = sql.SQL(", ").join([sql.Placeholder()] * len(TOKEN_SCHEMA))
            insert = sql.SQL("insert into {} values ({})").format(table, values)
            with connection.cursor() as cursor:
                cursor.executemany(insert, [list(row.values()) for row in rows.to_pylist()])
        return fresh

    def _upsert(self, connection: psycopg.Connection, name: str, rows: pa.Table) -> None:
        types = dict(flat(rows.schema))
        columns = list(types)
        table = sql.Identifier(self._schema, name)
        staged = [(column, _STAGED.get(type_, type_)) for column, type_ in types.items()]
        connection.execute(
            sql.SQL("create temp table staged ({}) on commit drop").format(typed(staged))
        )
        names = sql.SQL(", ").join(sql.Identifier(column) for column in columns)
        with connection.cursor().copy(
            sql.SQL("copy staged ({}) from stdin").format(names)
        ) as copying:
            for row in _records(rows, _IDENTITY.get(name, self._identity)):
                copying.write_row(row)
        values = sql.SQL(", ").join(
            sql.SQL(_UNSTAGED.get(types[column], "{0}")).format(sql.Identifier(column))
            for column in columns
        )
        replaced = sql.SQL(", ").join(
            sql.SQL("{0} = excluded.{0}").format(sql.Identifier(column)) for column in columns
        )
        connection.execute(
            sql.SQL(
                "insert into {} ({}) select {} from staged on conflict ({}) do update set {}"
            ).format(table, names, values, sql.Identifier(ROW_ID), replaced)
        )
        connection.execute("drop table staged")


def _exists(connection: psycopg.Connection, schema: str, name: str) -> bool:
    spelled = sql.Identifier(schema, name).as_string(connection)
    found = connection.execute("select to_regclass(%s)", [spelled]).fetchone()
    return found is not None and found[0] is not None


def _tokens(
    connection: psycopg.Connection,
    schema: str,
    run: str,
    which: LiteralString,
    values: Sequence[object],
) -> dict[int, Token]:
    """Return the tokens of a run that meet a condition, in which {0} is the table."""
    table = sql.Identifier(schema, TOKENS)
    columns = sql.SQL(", ").join(map(sql.Identifier, TOKEN_SCHEMA.names))
    select = sql.SQL("select {} from {} where run = %s and {}").format(
        columns, table, sql.SQL(which).format(table)
    )
    rows = connection.execute(select, [run, *values])
    return tokens_of(dict(zip(TOKEN_SCHEMA.names, row, strict=True)) for row in rows)


@contextmanager
def _answering() -> Iterator[None]:
    """Convert connection errors into a clause.

    Raises:
        SinkUnreachable: the database does not answer.
    """
    try:
        yield
    except psycopg.OperationalError as error:
        said = " ".join(str(error).split()) or type(error).__name__
        msg = f"PostgreSQL does not answer here ({said})"
        raise SinkUnreachable(msg) from error


def _connection() -> psycopg.Connection:
    return psycopg.connect(options="-c TimeZone=UTC", application_name="slackwater")


def _records(rows: pa.Table, identity: Sequence[str]) -> Iterator[list[Any]]:
    """Return the rows for PostgreSQL: the digest of the identity, then the flat columns."""
    columns = [in_microseconds(rows[name]) for name in rows.schema.names]
    for row in zip(*(column.to_pylist() for column in columns), strict=True):
        named = dict(zip(rows.schema.names, row, strict=True))
        spelled = json.dumps([named.get(name) for name in identity], default=str)
        flat: list[Any] = [hashlib.sha256(spelled.encode()).hexdigest()[:32]]
        for field, value in zip(rows.schema, row, strict=True):
            if pa.types.is_struct(field.type):
                # A tombstone has no values.
                flat += [storable(value and value[part.name]) for part in field.type]
            elif field.name == "offsets":
                flat.append(json.dumps({o["lane"]: [o["first"], o["last"]] for o in value}))
            else:
                flat.append(storable(value))
        yield flat


def storable(value: Any) -> Any:
    """Escape U+0000, which PostgreSQL cannot hold, as `␀0`, and `␀` itself as `␀␀`.

    Also inside lists, which some aggregates return.
    """
    if isinstance(value, list):
        return [storable(element) for element in value]
    if isinstance(value, str):
        return value.replace("␀", "␀␀").replace("\0", "␀0")
    return value
