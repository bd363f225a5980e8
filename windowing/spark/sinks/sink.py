"""The sink protocol, and the registry of sinks by their keys in pipeline files.

A sink takes all frames of a batch under one token `(run, batch_id)`, and can report what it has of
a run, so that nothing is lost or written twice after any failure. Verification reads its output
with independent readers (`chaos/readers/`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, TypeVar, runtime_checkable

from windowing.model import Pipeline
from windowing.model.registry import PluginError, Registry
from windowing.runtime.token import Tables
from windowing.spark.sinks.reader import OutputReader
from windowing.spark.sinks.tokens import Frames, TokenOf
from windowing.spark.sinks.written import OnWritten, ignore

if TYPE_CHECKING:  # rows are also built and checked without Spark
    from pyspark.sql import DataFrame

FolderOf = Callable[[str], Path]
"""A function from a name to its folder of tables, for sinks that write files."""


class SinkUnreachable(RuntimeError):
    """The system that holds the rows is unreachable; the text is a clause."""

    exit_code = 1


@dataclass(frozen=True)
class RunPlace:
    """The destination of one run's rows.

    Attributes:
        pipeline: the pipeline, which names the sink and the place there.
        run: the identity of the checkpoint; another run never collides with this one.
        folder: the folder of the run's tables, for sinks that write files.
        token_of: returns the token of a batch; None: derive it from the lanes' metrics.
        is_live: whether users see this run; called before each batch.
        on_written: called with each batch, once it is written; for metrics.
    """

    pipeline: Pipeline
    run: str
    folder: Path
    token_of: TokenOf | None = None
    is_live: Callable[[], bool] = lambda: True
    on_written: OnWritten = ignore


class Sink(Protocol):
    """The writer of one run's batches, exactly once."""

    def write(self, batch: DataFrame, batch_id: int) -> None:
        """Write one batch; for `foreachBatch`.

        Raises:
            TokenMismatch: the sink's rows and the job's checkpoint do not belong together.
        """

    def take(self, frames: Frames, batch_id: int) -> None:
        """Write one batch's frames; like `write`, without Spark."""

    @classmethod
    def open(cls, place: RunPlace) -> Sink:
        """Open the sink of a run, creating missing tables.

        Raises:
            TableConflict: existing tables cannot take such rows; nothing was changed.
        """

    @classmethod
    def kept(cls, pipeline: Pipeline, folder: Path, run: str, since: int = 0) -> Tables:
        """Return the record of a run, with tokens from `since` on, without creating anything."""

    @classmethod
    def clashes(cls, pipeline: Pipeline, name: str, folder_of: FolderOf) -> list[str]:
        """Return why existing tables cannot take a pipeline's rows, a clause each.

        Raises:
            SinkUnreachable: the sink is unreachable.
        """

    @classmethod
    def additions(cls, pipeline: Pipeline, name: str, folder_of: FolderOf) -> list[str]:
        """Return what a pipeline adds to existing tables; empty if there are none.

        Raises:
            SinkUnreachable: the sink is unreachable.
        """

    @classmethod
    def latest(cls, pipeline: Pipeline) -> str | None:
        """Return a sentence on where the newest rows are; None: Delta tables in the folder."""


@runtime_checkable
class CommitsByTable(Protocol):
    """A sink each of whose tables records the run's last batch itself."""

    def begin_behind(self, batch_id: int, queries: Collection[str]) -> None:
        """Let the tables of added queries begin behind a batch: it has no rows for them.

        Raises:
            TokenMismatch: the sink does not know the batch.
        """


@runtime_checkable
class Readable(Protocol):
    """A sink whose rows jobs and people can read here; of others, only `chaos/readers` can."""

    @classmethod
    def reader(cls, pipeline: Pipeline, folder: Path, run: str) -> OutputReader:
        """Return the reader of a run, without reading anything."""


SINKS: Final = Registry[type[Sink]]("sink", "sinks")
"""Every sink by its key under `sink:`."""

_Class = TypeVar("_Class", bound=type[Sink])
_ASKED: Final = ("write", "take", "open", "kept", "clashes", "additions", "latest")


def sink(key: str) -> Callable[[_Class], _Class]:
    """Register the decorated class as the sink of `sink: {key: NAME}`.

    Raises:
        PluginError: the class is not a sink, or the key is taken.
    """

    def register(class_: _Class) -> _Class:
        origin = f"{class_.__module__}.{class_.__qualname__}"
        if lacking := [one for one in _ASKED if not hasattr(class_, one)]:
            msg = f"{origin} cannot be the sink {key!r}: it lacks {', '.join(lacking)}"
            raise PluginError(msg)
        SINKS.add(key, class_, origin)
        return class_

    return register


def sink_of(pipeline: Pipeline) -> type[Sink]:
    """Return the sink that a pipeline names.

    Raises:
        PluginError: its plug-in cannot be imported.
    """
    return SINKS[pipeline.destination.kind]


def reader_of(pipeline: Pipeline, folder: Path, run: str) -> OutputReader | None:
    """Return the reader of a run's rows; None: its sink has none.

    Args:
        folder: the folder of the run's tables, for sinks that write files.

    Raises:
        PluginError: the sink's plug-in cannot be imported.
    """
    found = sink_of(pipeline)
    return found.reader(pipeline, folder, run) if issubclass(found, Readable) else None


def begin_tables(place: RunPlace, batch_id: int, queries: Collection[str]) -> None:
    """Create the tables of queries that are added to a run: behind a batch, without rows.

    Args:
        place: the run, which has no job, and its pipeline with the queries.
        batch_id: its last batch.

    Raises:
        TableConflict: existing tables cannot take such rows.
        TokenMismatch: the sink does not know the batch.
    """
    opened = sink_of(place.pipeline).open(place)
    if isinstance(opened, CommitsByTable):
        opened.begin_behind(batch_id, queries)
