"""Changes of the queries, as the driver notes them: of an error, Spark passes on only its text."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame

from windowing.engine.changes import QueriesChanged


def noting(
    write: Callable[[DataFrame, int], None], changes: list[QueriesChanged]
) -> Callable[[DataFrame, int], None]:
    """Return a function for `foreachBatch` that notes changes of the queries, and lets them fail.

    Args:
        write: writes a batch.
        changes: where they are noted; Spark passes on no more than the text of an error.
    """

    def noted(batch: DataFrame, number: int) -> None:
        try:
            write(batch, number)
        except QueriesChanged as change:
            changes.append(change)
            raise

    return noted
