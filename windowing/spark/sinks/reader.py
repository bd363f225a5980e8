"""What jobs and people read of a run in a sink, whichever it is.

Verification has readers that share nothing with the sinks (`chaos/readers/`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from windowing.files.places import is_remote
from windowing.files.table_rows import rows_in


class OutputUnreadable(RuntimeError):
    """Rows of a run that are not there, or that their system does not give."""

    exit_code = 2


class OutputReader(Protocol):
    """Reads what one run has in a sink."""

    def dead_letters(self) -> Sequence[Mapping[str, Any]]:
        """Return the rows of the dead letters; older ones lack newer columns, or have nulls there.

        Raises:
            OutputUnreadable: there are no such rows.
        """

    def read_counts(self) -> Sequence[tuple[str, int]]:
        """Return how many records were read, for each query, in parts that add up.

        Raises:
            OutputUnreadable: there are no such rows.
        """

    def dataset(self, table: str) -> tuple[str, str]:
        """Return namespace and name of a table as OpenLineage names data sets."""


@runtime_checkable
class SumsReader(Protocol):
    """A reader whose system adds up what an overview shows; others have files to be counted."""

    def table(self, name: str) -> str:
        """Return the full name of a table, for people."""

    def results(self, table: str) -> Sequence[tuple[Any, ...]]:
        """Return batch, query, rows, revisions and the time of the first row written, if known.

        The time is in microseconds since 1970. One row for each batch and query.

        Raises:
            OutputUnreadable: the table cannot be read.
        """

    def lanes(self, fates: Sequence[str]) -> Sequence[tuple[Any, ...]]:
        """Return batch, lane, records read, late ones dropped, progress, and whether it ended.

        Then, for each of some fates, how many records have it.

        One row for each batch and lane, in the order of batches.

        Raises:
            OutputUnreadable: the table cannot be read.
        """

    def letters(self) -> Sequence[tuple[Any, ...]]:
        """Return batch, source, partition, offset, reason and value of each dead letter.

        Raises:
            OutputUnreadable: the table cannot be read.
        """


@dataclass(frozen=True)
class FolderReader:
    """Reads what a run has in the Delta tables of a folder."""

    folder: Path
    run: str

    def dead_letters(self) -> list[dict[str, Any]]:
        """Return the rows of the dead letters."""
        letters: list[dict[str, Any]] = self._rows("dead_letters").to_pylist()
        return letters

    def read_counts(self) -> list[tuple[str, int]]:
        """Return how many records each query read, batch by batch and lane by lane."""
        metrics = self._rows("metrics")
        columns = (metrics[name].to_pylist() for name in ("query", "read"))
        return list(zip(*columns, strict=True))

    def dataset(self, table: str) -> tuple[str, str]:
        """Return namespace and name of a table as OpenLineage names data sets."""
        return dataset_in(self.folder, table)

    def _rows(self, name: str) -> Any:
        try:
            return rows_in(DeltaTable(str(self.folder / name)), run=self.run)
        except (DeltaError, OSError) as error:
            msg = (
                f"{self.folder} has no tables of dead letters and metrics ({error}): has the job "
                "run?"
            )
            raise OutputUnreadable(msg) from None


def dataset_in(folder: Path, table: str) -> tuple[str, str]:
    """Return namespace and name of a table in a folder as OpenLineage names data sets."""
    if not is_remote(folder):
        return "file", str(folder.absolute() / table)
    scheme, _, rest = str(folder).partition("://")
    host, _, path = rest.partition("/")
    return f"{scheme}://{host}", f"/{path}/{table}"
