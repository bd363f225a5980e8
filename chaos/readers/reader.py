"""The protocols of readers of outputs, and the registries of readers by the key of their sink.

A reader shares nothing with the sink, since the verdict depends on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final, Protocol, TypeVar

import pyarrow as pa

from chaos.readers.output import Output
from windowing.model import Pipeline
from windowing.model.fates import Fates
from windowing.model.query import Flow
from windowing.model.registry import Registry
from windowing.model.types import FieldType


class OutputReader(Protocol):
    """Reads what one run wrote."""

    def __call__(
        self, pipeline: Pipeline, folder: Path | None, run: str | None, *, before: int | None = None
    ) -> Output:
        """Read the output of a run.

        Args:
            folder: folder of the run's tables, for a sink that writes files.
            run: name of the run; None if there is only one.
            before: only what batches with lower numbers wrote; None: everything. A reader without
                this parameter can only read everything.

        Raises:
            OutputError: something is missing, or the run does not exist or is ambiguous.
        """


class RunColumns(Protocol):
    """What one run wrote, column by column, in the types of its sink.

    All raise OutputError if a table or column is missing, or not the pipeline's.
    """

    fates: Fates
    fields: dict[str, FieldType]

    def results(
        self, query: Flow, plain: Iterable[str], key: Mapping[str, str], values: Mapping[str, str]
    ) -> tuple[pa.Table, pa.ChunkedArray | None]:
        """Return all revisions of a query, without provisional rows.

        Rows that only take others back are there if what says so is asked for.

        Args:
            plain: columns that every table of results has, or of all queries that can overflow.
            key: the names to give to fields of the key.
            values: the names to give to aggregates.

        Returns:
            these columns in this order; and whether each row says that its window was absorbed,
            if the query's windows can be.
        """

    def metrics(self, names: Iterable[str]) -> pa.Table:
        """Return columns of the run's own metrics."""

    def dead_letters(self, names: Iterable[str]) -> pa.Table:
        """Return columns of the dead letters."""

    def size(self) -> int:
        """Return the number of rows written for all queries, including provisional ones."""


READERS: Final = Registry[OutputReader]("reader", "readers")
"""All readers by the key of their sink under `sink:`."""

COLUMNS: Final[dict[str, Callable[[Pipeline, Path, str, int | None], RunColumns]]] = {}
"""The classes that read single columns by the key of their sink, given a pipeline, the folder of
the run's tables, the run's name and, if not None, the first batch to leave out; plug-ins have
none."""

_Function = TypeVar("_Function", bound=OutputReader)
_Columns = TypeVar("_Columns", bound=Callable[[Pipeline, Path, str, int | None], RunColumns])


def reader(key: str) -> Callable[[_Function], _Function]:
    """Register the decorated function as the reader of what `sink: {key: NAME}` writes.

    Raises:
        PluginError: the sink already has a reader.
    """

    def register(function: _Function) -> _Function:
        name = getattr(function, "__qualname__", repr(function))
        READERS.add(key, function, f"{function.__module__}.{name}")
        return function

    return register


def columns(key: str) -> Callable[[_Columns], _Columns]:
    """Register the decorated class for the columns of what `sink: {key: NAME}` writes."""

    def register(class_: _Columns) -> _Columns:
        COLUMNS[key] = class_
        return class_

    return register
