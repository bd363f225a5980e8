"""What a pipeline wrote, from files or from tables, in one shape that can be compared.

A row is kept as the line that OUT.jsonl has for it, and a dead letter as its line of
OUT.dead.jsonl: two outputs are equal iff their lines are. From tables the lines are spelled from
the columns; instants are taken as int64 microseconds and never pass through Python's datetimes.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError

from windowing.semantics import Counts
from windowing.spec.pipeline import Pipeline
from windowing.spec.rows import DeadLetter, Row, dead_letter_line, row_line

Identity = tuple[object, ...]
"""What at most one line may have: (query, window_id, key as JSON, pane, revision), or of a dead
letter (source, partition, offset, query)."""


class OutputError(ValueError):
    """The output cannot be read: no such file, table or run, or not in the format."""


@dataclass(frozen=True)
class Output:
    """What one run wrote.

    Attributes:
        rows, dead: every line with its identity, in the order in which they were found.
        counts: by query, as the run itself counted; None where it leaves no counts (files).
        ordered: whether the lines have an order that means something (files).
        name: where it came from, for messages.
    """

    rows: list[tuple[Identity, str]]
    dead: list[tuple[Identity, str]]
    counts: dict[str, Counts] | None
    ordered: bool
    name: str


def row_identity(row: Row) -> Identity:
    """The identity of a row, run aside."""
    return _identity(json.loads(row_line(row)))


def dead_letter_identity(letter: DeadLetter) -> Identity:
    """The identity of a dead letter, run aside."""
    return (letter.source, letter.partition, letter.offset, letter.query)


# --- files -----------------------------------------------------------------------------------


def read_files(path: str | Path) -> Output:
    """Read OUT.jsonl and the OUT.dead.jsonl beside it.

    Raises:
        OutputError: a file is missing, or a line is not a row or dead letter of the format.
    """
    rows_file = Path(path)
    return Output(
        rows=[(_identity(fields), line) for fields, line in _lines(rows_file, _ROW)],
        dead=[
            (tuple(fields[name] for name in _DEAD[:-1]), line)
            for fields, line in _lines(dead_letters_file(rows_file), _DEAD)
        ],
        counts=None,
        ordered=True,
        name=str(rows_file),
    )


def dead_letters_file(path: Path) -> Path:
    """The file of dead letters that belongs to a file of rows: OUT.dead.jsonl for OUT.jsonl."""
    return path.with_name(path.name.removesuffix(".jsonl") + ".dead.jsonl")


_ROW = ("query", "window_id", "key", "pane", "revision", "records")
_DEAD = ("source", "partition", "offset", "query", "reason")


def _lines(path: Path, names: tuple[str, ...]) -> Iterable[tuple[dict[str, Any], str]]:
    try:
        content = path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        msg = f"{path}: the output file cannot be read ({error}): give the file that `run` wrote"
        raise OutputError(msg) from None
    if content and not content.endswith("\n"):
        msg = f"{path}: the last line has no end: was the run that wrote it cut off?"
        raise OutputError(msg)
    for number, line in enumerate(content.split("\n")[:-1], 1):
        try:
            fields = json.loads(line)
        except (ValueError, RecursionError):
            fields = None
        if not isinstance(fields, dict) or any(name not in fields for name in names):
            msg = f"{path}:{number}: not a line of the format: it needs {', '.join(names)}"
            raise OutputError(msg)
        yield fields, line


def _identity(fields: dict[str, Any]) -> Identity:
    # As text, since a broken key may be anything, and 1, 1.0 and true are equal to Python.
    parts = (fields[name] for name in ("query", "window_id", "key", "pane", "revision"))
    return tuple(json.dumps(part) for part in parts)


# --- tables ----------------------------------------------------------------------------------


def read_tables(table_dir: str | Path, pipeline: Pipeline, run: str | None = None) -> Output:
    """Read what one run wrote to the Delta tables of a pipeline.

    Args:
        table_dir: holds one table per query, `dead_letters` and `metrics`.
        pipeline: names the queries.
        run: which run; None where the tables hold only one.

    Raises:
        OutputError: a table is missing or lacks a column; no such run, or several to choose from.
    """
    folder = Path(table_dir)
    tables = {query.name: _open(folder, query.name) for query in pipeline.queries}
    dead, metrics = _open(folder, "dead_letters"), _open(folder, "metrics")
    run = _choose(run, folder, [*tables.values(), dead, metrics])
    rows = [line for table in tables.values() for line in _table_rows(_of_run(table, run), folder)]
    letters = _table_dead_letters(_of_run(dead, run))
    return Output(
        rows=rows,
        dead=letters,
        counts=_table_counts(_of_run(metrics, run), letters, pipeline),
        ordered=False,
        name=f"{folder} run {run}",
    )


def _open(folder: Path, name: str) -> DeltaTable:
    try:
        return DeltaTable(str(folder / name))
    except TableNotFoundError:
        msg = f"{folder / name}: there is no Delta table: has the pipeline run, and is {folder} its folder?"
        raise OutputError(msg) from None


def _choose(run: str | None, folder: Path, tables: list[DeltaTable]) -> str:
    runs: set[str] = set()
    for table in tables:
        runs |= set(pc.unique(_arrow(table, ["run"])["run"]).to_pylist())
    listed = ", ".join(sorted(runs)) or "none"
    if run is None and len(runs) == 1:
        return runs.pop()
    if run is None:
        msg = f"{folder}: name the run to verify; the tables hold: {listed}"
        raise OutputError(msg)
    if run not in runs:
        msg = f"{folder}: no run is called {run!r}; the tables hold: {listed}"
        raise OutputError(msg)
    return run


def _arrow(table: DeltaTable, columns: list[str] | None, run: str | None = None) -> pa.Table:
    filters = None if run is None else [("run", "=", run)]
    try:
        return table.to_pyarrow_table(columns=columns, filters=filters)
    except (pa.ArrowInvalid, KeyError) as error:
        msg = f"{table.table_uri}: cannot be read as the sink's table: {error}"
        raise OutputError(msg) from None


def _of_run(table: DeltaTable, run: str) -> pa.Table:
    return _arrow(table, None, run)


def _columns(table: pa.Table, names: Iterable[str]) -> list[list[Any]]:
    try:
        return [table[name].to_pylist() for name in names]
    except KeyError as error:
        msg = f"the table lacks a column of the sink: {error}; it has {table.column_names}"
        raise OutputError(msg) from None


def _table_rows(table: pa.Table, folder: Path) -> Iterable[tuple[Identity, str]]:
    for name in ("window_start", "window_end"):
        if name not in table.column_names or table[name].type != pa.timestamp("us", tz="UTC"):
            msg = f"{folder}: column {name} must be a timestamp in microseconds, UTC"
            raise OutputError(msg)
        at = table.column_names.index(name)
        table = table.set_column(at, name, pc.cast(table[name], pa.int64()))
    keys = table["key"].to_pylist() if "key" in table.column_names else [{}] * len(table)
    names = ("query", "window_id", "window_start", "window_end", "pane", "revision", "records")
    plain = _columns(table, (*names, "offsets", "values"))
    for key, (query, wid, start, end, pane, revision, records, offsets, values) in zip(
        keys, zip(*plain, strict=True), strict=True
    ):
        row = Row(
            query=query,
            window_id=wid,
            window_start_us=start,
            window_end_us=end,
            key=tuple((key or {}).values()),
            pane=pane,
            revision=revision,
            records=records,
            offsets={lane["lane"]: (lane["first"], lane["last"]) for lane in offsets},
            values=values,
        )
        yield row_identity(row), row_line(row)


def _table_dead_letters(table: pa.Table) -> list[tuple[Identity, str]]:
    plain = _columns(table, ("source", "partition", "offset", "query", "reason"))
    letters = [DeadLetter(*fields) for fields in zip(*plain, strict=True)]
    return [(dead_letter_identity(letter), dead_letter_line(letter)) for letter in letters]


def _table_counts(
    metrics: pa.Table, letters: list[tuple[Identity, str]], pipeline: Pipeline
) -> dict[str, Counts]:
    """Add up the batches; dead letters are counted where they are kept, not where they are said."""
    names = ("read", "applied", "outside", "dropped")
    sums: dict[str, list[int]] = defaultdict(lambda: [0] * len(names))
    for query, *numbers in zip(*_columns(metrics, ("query", *names)), strict=True):
        sums[query] = [total + number for total, number in zip(sums[query], numbers, strict=True)]
    counts = {}
    for query in pipeline.queries:
        read, applied, outside, dropped = sums[query.name]
        dead = sum(1 for identity, _ in letters if identity[-1] in (None, query.name))
        counts[query.name] = Counts(read, applied, outside, dropped, dead)
    return counts
