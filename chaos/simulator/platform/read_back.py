"""What the tables of a simulated run hold, read back as chaos reads those of real runs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from chaos.readers.delta import lines_of, table_dead_letters
from chaos.readers.output import OutputError
from chaos.simulator.history import SimulationHistory
from chaos.simulator.platform.sink import Ends
from chaos.simulator.platform.spelling import metric_of
from chaos.simulator.platform.tables import RUN, TableFolder, token
from windowing.files.table_rows import dataset_of
from windowing.model.file.pipeline import Pipeline
from windowing.runtime.output import EARLY
from windowing.spark.sinks.rows import DEAD_LETTERS, METRICS
from windowing.spark.sinks.tokens import TOKENS, tokens_of
from windowing.spark.sinks.written import WrittenBatch

Plans = Sequence[Ends]


def read_back(tables: TableFolder, pipeline: Pipeline, history: SimulationHistory) -> None:
    """Enter what the tables hold into a history, batch by batch, and what is wrong with them."""
    try:
        _read_back(tables, pipeline, history)
    except (OutputError, DeltaError, OSError, pa.ArrowException) as error:
        history.unsound.append(f"the tables cannot be read: {error}")


def _read_back(tables: TableFolder, pipeline: Pipeline, history: SimulationHistory) -> None:
    folder, plans, reported = tables.folder, tables.plans, tables.reported
    fates, counted = pipeline.source.fates, dict[int, Counter[str]]()
    for name in (*pipeline.tables, DEAD_LETTERS, METRICS):
        for batch, rows in _by_batch(folder / name):
            own = history.batches[batch]
            if name == DEAD_LETTERS:
                own.dead += table_dead_letters(rows, folder / name)
            elif name == METRICS:
                own.metrics += [metric_of(row["lane"], row, fates) for row in rows.to_pylist()]
            else:
                own.rows += lines_of(rows, pipeline.tables[name], folder / name)
            if name != METRICS:
                counted.setdefault(batch, Counter())[name] += len(_promised(rows))
    history.unsound += [
        *(fault for name in (*pipeline.tables, DEAD_LETTERS, METRICS, TOKENS)
          for fault in _wrong_in_log(folder / name)),
        *_wrong_tokens(folder / TOKENS, pipeline, plans),
        *_wrong_counts(reported, counted),
    ]  # fmt: skip


def _promised(rows: pa.Table) -> pa.Table:
    """Return the rows without early ones: each attempt has its own; the last one reports them."""
    is_result = "pane" in rows.column_names
    return rows.filter(pc.not_equal(rows["pane"], EARLY)) if is_result else rows


def _by_batch(folder: Path) -> Iterator[tuple[int, pa.Table]]:
    """Yield a table's rows of each batch, as a reader finds them who asks for one run."""
    rows = dataset_of(DeltaTable(str(folder))).to_table(filter=pc.field("run") == RUN)
    for batch in sorted(set(rows["batch_id"].to_pylist())):
        yield batch, rows.filter(pc.equal(rows["batch_id"], batch))


def _wrong_in_log(folder: Path) -> Iterator[str]:
    """Yield what is wrong with a table's log: files that are named twice, or out of order."""
    named, last = Counter[str](), -1
    for entry in sorted((folder / "_delta_log").glob("*.json")):
        for action in map(json.loads, entry.read_text(encoding="utf-8").splitlines()):
            if "add" in action:
                named[action["add"]["path"]] += 1
            batch = _batch_of(action)
            if batch is not None and batch <= last:
                yield f"table {folder.name} has batch {batch} after batch {last}"
            last = last if batch is None else max(last, batch)
    yield from (f"table {folder.name} names {path} twice" for path in named if named[path] > 1)


def _batch_of(action: Mapping[str, Any]) -> int | None:
    of_run = action.get("txn", {})
    return of_run["version"] if of_run.get("appId") == RUN else None


def _wrong_tokens(folder: Path, pipeline: Pipeline, plans: Plans) -> Iterator[str]:
    """Yield the batches whose token is not that of their plan, or missing."""
    rows = dataset_of(DeltaTable(str(folder))).to_table().to_pylist()
    found, lanes = tokens_of(rows), Counter((row["batch_id"], row["lane"]) for row in rows)
    yield from (f"the tokens have {place} twice" for place in lanes if lanes[place] > 1)
    for batch in range(len(plans)):
        if batch in found and not found[batch].same(token(pipeline, plans, batch)):
            yield f"the token of batch {batch} is {found[batch]}, and its plan {plans[batch]}"
    if lost := set(range(max(found, default=-1))) - found.keys():
        yield f"the tokens lack batch {min(lost)}"


def _wrong_counts(
    reported: Mapping[int, WrittenBatch], counted: Mapping[int, Counter[str]]
) -> Iterator[str]:
    """Yield the batches of which the sink has reported other numbers of rows than it wrote."""
    for batch, written in reported.items():
        said = Counter[str]()
        for portion in written.portions:
            said[portion.table] += portion.count * (portion.what != EARLY)
        if said != counted.get(batch, Counter()):
            yield f"of batch {batch} the sink told {dict(said)}, and it has {counted.get(batch)}"
