"""The table sink: Delta tables, one per query and two beside them, written exactly once.

Under the table's folder stand `<query>/`, `dead_letters/` and `metrics/`. Each commit carries the
run as application and the batch as version, so a batch that is written again is passed over, table
by table. Reading needs no JVM, and writing none either: a batch's results are a small fraction of
its input, so the driver commits them itself (see `adr/0007`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Field, Transaction, write_deltalake
from deltalake.schema import PrimitiveType
from pyspark.sql import DataFrame

from windowing.output import Emitted
from windowing.spark.sinks.rows import LAG, BatchRows, schemas
from windowing.spec import Pipeline


class TableSink:
    """Writes the frames of each batch of one run.

    Args:
        pipeline: whose rows they are.
        folder: the table's folder.
        run: the identity of the checkpoint; another run never collides with this one.
    """

    def __init__(self, pipeline: Pipeline, folder: Path, run: str) -> None:
        self._rows, self._run = BatchRows(pipeline, run), run
        self._tables = {
            name: _open(folder / name, schema) for name, schema in schemas(pipeline).items()
        }

    def write(self, batch: DataFrame, batch_id: int) -> None:
        """Write one batch; made for `foreachBatch`."""
        # Spark must see the whole batch executed, also when its tables hold it already.
        self.take(batch.collect(), batch_id)

    def take(self, frames: Sequence[Emitted], batch_id: int) -> None:
        """Write one batch's frames, of all shards."""
        for name, rows in self._rows.tables(frames, batch_id).items():
            self._commit(name, rows, batch_id)

    def _commit(self, name: str, rows: pa.Table, batch_id: int) -> None:
        table = self._tables[name]
        table.update_incremental()
        written = table.transaction_version(self._run)
        if written is not None and written >= batch_id:
            return
        token = CommitProperties(app_transactions=[Transaction(self._run, batch_id)])
        write_deltalake(table, rows, mode="append", commit_properties=token)


def _open(path: Path, schema: pa.Schema) -> DeltaTable:
    """Open a table, creating it where it is not there yet; partitioned by run.

    One that was made before there was a lag gets the column; what it holds has none.
    """
    table = DeltaTable.create(path, schema, mode="ignore", partition_by=["run"])
    names = {field.name for field in table.schema().fields}
    if LAG in schema.names and LAG not in names:
        table.alter.add_columns(Field(LAG, PrimitiveType("long")))
    return table
