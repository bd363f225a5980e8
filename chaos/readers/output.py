"""The output of a pipeline, from files or tables, in a form that can be compared.

A row is represented by its line in OUT.jsonl, and a dead letter by its line in OUT.dead.jsonl: two
outputs are equal iff their lines are. Lines of tables are formatted from the columns; instants are
int64 microseconds and never become Python datetimes.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError

from chaos.readers.bounded_lines import bounded_text
from windowing.model.file.pipeline import Pipeline
from windowing.model.query import Flow
from windowing.model.rows import DeadLetter, Row, dead_letter_line, row_line
from windowing.semantics import Counts

Identity = tuple[str, ...]
"""The unique identity of a line, each part as JSON: (query, window_id, key, pane, revision), plus
"retract" if the row retracts that one; for a dead letter (source, partition, offset, query)."""

Line = tuple[Identity, str]
"""A line of an output with its identity."""

RETRACT = "retract"
"""The `op` of a row that retracts another one."""


class OutputError(ValueError):
    """An output that cannot be read: no such file, table or run, or not in the format."""

    exit_code = 2


class DamagedOutput(OutputError):
    """An output that exists but is damaged."""

    exit_code = 1


@dataclass(frozen=True)
class Output:
    """The output of one run.

    Attributes:
        rows, dead: every line with its identity, in the order read.
        counts: the run's own counts by query; None if it keeps none (files).
        ordered: whether the order of the lines matters (files).
        name: its origin, for messages.
    """

    rows: list[tuple[Identity, str]]
    dead: list[tuple[Identity, str]]
    counts: dict[str, Counts] | None
    ordered: bool
    name: str


def row_identity(row: Row) -> Identity:
    """Return the identity of a row within its run."""
    taken_back = [RETRACT] if row.retracts else []
    return _identity((row.query, row.window_id, row.key, row.pane, row.revision, *taken_back))


def dead_letter_identity(letter: DeadLetter) -> Identity:
    """Return the identity of a dead letter within its run."""
    return _identity((letter.source, letter.partition, letter.offset, letter.query))


def output_of(rows: Iterable[Row], dead: Iterable[DeadLetter], name: str) -> Output:
    """Make an output of what an engine in this process emitted, without order or counts."""
    return Output(
        rows=[(row_identity(row), row_line(row)) for row in rows],
        dead=[(dead_letter_identity(letter), dead_letter_line(letter)) for letter in dead],
        counts=None,
        ordered=False,
        name=name,
    )


def count_dead(letters: Iterable[tuple[Identity, str]], query: str) -> int:
    """Count a query's dead letters: its own, and bad values, which count for every query."""
    concerned = {json.dumps(None), json.dumps(query)}
    return sum(1 for identity, _ in letters if identity[-1] in concerned)


def _identity(parts: Iterable[object]) -> Identity:
    # As text, since a broken output may hold anything, and to Python 1, 1.0 and True are equal.
    return tuple(json.dumps(part) for part in parts)


# --- files -----------------------------------------------------------------------------------


def read_files(path: str | Path) -> Output:
    """Read OUT.jsonl and the OUT.dead.jsonl beside it.

    Raises:
        OutputError: a file is missing, or a line is not a row or dead letter of the format.
    """
    rows_file = Path(path)
    return Output(
        rows=list(_lines(rows_file, _ROW)),
        dead=list(_lines(dead_letters_file(rows_file), _DEAD)),
        counts=None,
        ordered=True,
        name=str(rows_file),
    )


def dead_letters_file(path: Path) -> Path:
    """Return the path of the dead letters that belong to a file of rows."""
    return path.with_name(path.name.removesuffix(".jsonl") + ".dead.jsonl")


_ROW = ("query", "window_id", "key", "pane", "revision")
_DEAD = ("source", "partition", "offset", "query")


def _lines(path: Path, names: tuple[str, ...]) -> Iterable[tuple[Identity, str]]:
    try:
        content = bounded_text(path)
    except (OSError, ValueError) as error:
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
        marks = [fields["op"]] if "op" in fields else []
        yield _identity([*(fields[name] for name in names), *marks]), line


# --- tables ----------------------------------------------------------------------------------


def read_tables(table_dir: str | Path, pipeline: Pipeline, run: str | None = None) -> Output:
    """Read what one run wrote to the Delta tables of a pipeline.

    Args:
        table_dir: folder with one table per query, `dead_letters` and `metrics`.
        pipeline: the pipeline.
        run: name of the run; None if the tables hold only one.

    Raises:
        OutputError: a table is missing or lacks a column; no such run, or several to choose from.
        DamagedOutput: a table cannot be read.
    """
    with _undamaged(Path(table_dir)):
        return _read_tables(Path(table_dir), pipeline, run)


def _read_tables(folder: Path, pipeline: Pipeline, run: str | None) -> Output:
    tables = {query.name: _open(folder, query.name) for query in pipeline.flows}
    dead, metrics = _open(folder, "dead_letters"), _open(folder, "metrics")
    run = _choose(run, folder, [*tables.values(), dead, metrics])
    rows = [
        line
        for query in pipeline.flows
        for line in table_rows(_arrow(tables[query.name], run=run), query, folder / query.name)
    ]
    letters = table_dead_letters(_arrow(dead, run=run), folder / "dead_letters")
    return Output(
        rows=rows,
        dead=letters,
        counts=_table_counts(_arrow(metrics, run=run), letters, pipeline, folder / "metrics"),
        ordered=False,
        name=f"{folder} run {run}",
    )


@contextmanager
def _undamaged(folder: Path) -> Iterator[None]:
    """Turn every library's error about an unreadable table into `DamagedOutput`."""
    try:
        yield
    except (DeltaError, OSError, pa.ArrowException) as error:
        said = next(iter(str(error).splitlines()), type(error).__name__)
        msg = f"{folder}: a table is damaged, its log or one of its files: {said[:300]}"
        raise DamagedOutput(msg) from error


def _open(folder: Path, name: str) -> DeltaTable:
    try:
        with _whole(folder / name):
            return DeltaTable(str(folder / name))
    except TableNotFoundError:
        msg = f"{folder / name}: there is no Delta table: has the pipeline run with this folder?"
        raise OutputError(msg) from None


@contextmanager
def _whole(place: Path) -> Iterator[None]:
    """Turn the libraries' errors about damaged or missing files into one sentence."""
    try:
        yield
    except TableNotFoundError:
        raise
    except (DeltaError, pa.ArrowException, OSError, ValueError) as error:
        why = " ".join(str(error).split())[:200]
        msg = f"{place}: the table cannot be read, as if a file of it were damaged or gone ({why})"
        raise OutputError(msg) from error


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


def _arrow(table: DeltaTable, columns: list[str] | None = None, run: str | None = None) -> pa.Table:
    filters = None if run is None else [("run", "=", run)]
    with _whole(Path(unquote(urlsplit(table.table_uri).path))):
        return table.to_pyarrow_table(columns=columns, filters=filters)


def _columns(table: pa.Table, names: Iterable[str], place: Path) -> list[list[Any]]:
    lacking = [name for name in names if name not in table.column_names]
    if lacking:
        msg = f"{place}: not a table of the sink: it has no column {', '.join(lacking)}"
        raise OutputError(msg)
    return [table[name].to_pylist() for name in names]


_PLAIN = ("query", "window_id", "pane", "revision", "records", "offsets", "values")


def table_rows(table: pa.Table, query: Flow, place: Path) -> Iterable[tuple[Identity, str]]:
    """Yield the rows of a query's table as lines; `place` is its path, for messages.

    Raises:
        OutputError: this is not a table of the sink.
    """
    if "pane" in table.column_names:
        # Early rows are not part of the result; idle lanes may cause some, too.
        table = table.filter(pc.not_equal(table["pane"], "early"))
    starts, ends = (_microseconds(table, name, place) for name in ("window_start", "window_end"))
    keys = _keys(table, query, place)
    plain = _columns(table, _PLAIN, place)
    marks = dict(zip(query.marks, _columns(table, query.marks, place), strict=True))
    nothing = [None] * len(table)
    values = _structs(table, "values", query.shows, place)
    columns = zip(
        *(*plain[:-1], starts, ends, keys, values),
        *(marks.get(mark, nothing) for mark in ("op", "absorbed_by")),
        strict=True,
    )
    for name, wid, pane, revision, records, offsets, start_us, end_us, key, found, *more in columns:
        row = Row(
            query=name,
            window_id=wid,
            window_start_us=start_us,
            window_end_us=end_us,
            key=key,
            pane=pane,
            revision=revision,
            records=records,
            offsets={lane["lane"]: (lane["first"], lane["last"]) for lane in offsets or ()},
            values=dict(zip(query.shows, found, strict=True)),
            retracts=more[0] == RETRACT,
            absorbed_by=more[1],
        )
        try:
            yield row_identity(row), row_line(row)
        except ValueError as error:  # a lane's name has no number
            msg = f"{place}: {row} cannot be spelled as a row: {error}"
            raise OutputError(msg) from None


def _keys(table: pa.Table, query: Flow, place: Path) -> list[tuple[Any, ...]]:
    """Return the keys of rows; the table has each field once, even if `group_by` repeats PATTR."""
    if not query.key:
        return [()] * len(table)
    names = list(dict.fromkeys(query.key))
    found = (dict(zip(names, key, strict=True)) for key in _structs(table, "key", names, place))
    return [tuple(key[name] for name in query.key) for key in found]


def _microseconds(table: pa.Table, name: str, place: Path) -> list[int]:
    if name not in table.column_names or table[name].type != pa.timestamp("us", tz="UTC"):
        msg = f"{place}: column {name} must be a timestamp in microseconds, UTC"
        raise OutputError(msg)
    instants: list[int] = pc.cast(table[name], pa.int64()).to_pylist()
    return instants


def _structs(
    table: pa.Table, column: str, names: Sequence[str], place: Path
) -> list[tuple[Any, ...]]:
    """Return the fields of a struct column in the order of the pipeline.

    Runs of several versions of a pipeline share the tables: the other versions' fields must be null
    here.
    """
    type_ = table[column].type if column in table.column_names else None
    if type_ is None or not pa.types.is_struct(type_):
        msg = f"{place}: column {column} must be a struct of {', '.join(names)}"
        raise OutputError(msg)
    there = {field.name for field in type_}
    if not there.issuperset(names):
        msg = f"{place}: column {column} is {type_}, and the pipeline has {', '.join(names)}"
        raise OutputError(msg)
    found, nothing = table[column].to_pylist(), dict.fromkeys(there)
    for name in sorted(there.difference(names)):
        if any(part and part[name] is not None for part in found):
            msg = (
                f"{place}: {column}.{name} has values in rows of this run, and its pipeline has no "
                f"{name} (it has {', '.join(names)}): is the file the one that the run was begun "
                "with?"
            )
            raise OutputError(msg)
    return [tuple(_spelled((part or nothing)[name]) for name in names) for part in found]


def _spelled(value: Any) -> Any:
    # No valid row has a NaN, and JSON cannot express it: as text, it shows up as a difference.
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


def table_dead_letters(table: pa.Table, place: Path) -> list[tuple[Identity, str]]:
    """Return the dead letters of a table as lines; `place` is its path, for messages.

    Raises:
        OutputError: this is not a table of the sink.
    """
    plain = _columns(table, ("source", "partition", "offset", "query", "reason"), place)
    letters = [DeadLetter(*fields) for fields in zip(*plain, strict=True)]
    return [(dead_letter_identity(letter), dead_letter_line(letter)) for letter in letters]


def _table_counts(
    metrics: pa.Table, letters: list[tuple[Identity, str]], pipeline: Pipeline, place: Path
) -> dict[str, Counts]:
    names = ("query", "read", "applied", "outside", "dropped")
    batches = zip(*_columns(metrics, names, place), strict=True)
    return tally(((query, numbers) for query, *numbers in batches), letters, pipeline)


def tally(
    batches: Iterable[tuple[str, list[int]]],
    letters: list[tuple[Identity, str]],
    pipeline: Pipeline,
) -> dict[str, Counts]:
    """Add up the counts of all batches; count the dead letters that exist, not those reported.

    Args:
        batches: pairs of a query and its numbers of read, applied, outside and dropped records.
        letters: the dead letters in the output.
        pipeline: the pipeline.
    """
    sums: dict[str, list[int]] = defaultdict(lambda: [0] * 4)
    for name, numbers in batches:
        sums[name] = [total + number for total, number in zip(sums[name], numbers, strict=True)]
    counts = {}
    for query in pipeline.flows:
        read, applied, outside, dropped = sums[query.name]
        dead = count_dead(letters, query.name)
        counts[query.name] = Counts(read, applied, outside, dropped, dead)
    return counts
