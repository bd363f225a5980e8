"""What a sink is, and every sink by its key in pipeline files.

A sink takes all frames of a batch under one token `(run, batch_id)`, and can say afterwards what it
has of a run: so nothing is lost or written twice, whatever dies. Who judges what it wrote reads it
with a reader that shares nothing with it (`chaos/readers/`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from windowing.model import Pipeline
from windowing.model.registry import PluginError, Registry
from windowing.runtime.token import Tables
from windowing.spark.sinks.tokens import Frames, TokenOf

if TYPE_CHECKING:  # rows are made and judged without Spark, too
    from pyspark.sql import DataFrame

FolderOf = Callable[[str], Path]
"""The folder of tables of a name, for a sink that writes files."""


class SinkUnreachable(RuntimeError):
    """What holds the rows does not answer from here; the text is a clause."""

    exit_code = 1


@dataclass(frozen=True)
class RunPlace:
    """Where the rows of one run go.

    Attributes:
        pipeline: whose rows they are; it names the sink, and the place there.
        run: the identity of the checkpoint; another run never collides with this one.
        folder: of the run's tables, for a sink that writes files.
        token_of: gives the token of a batch that was read; None: what its lanes say they have read.
        is_live: whether this is the run that users look at; asked before each batch.
    """

    pipeline: Pipeline
    run: str
    folder: Path
    token_of: TokenOf | None = None
    is_live: Callable[[], bool] = lambda: True


class Sink(Protocol):
    """Writes the frames of each batch of one run, exactly once."""

    def write(self, batch: DataFrame, batch_id: int) -> None:
        """Write one batch; made for `foreachBatch`.

        Raises:
            TokenMismatch: the rows there and the job's checkpoint do not belong together.
        """

    def take(self, frames: Frames, batch_id: int) -> None:
        """Write one batch's frames; as `write`, without Spark."""

    @classmethod
    def open(cls, place: RunPlace) -> Sink:
        """Make the sink of a run, and what holds its rows where there is nothing yet.

        Raises:
            TableConflict: what is there cannot take such rows; nothing was touched.
        """

    @classmethod
    def kept(cls, pipeline: Pipeline, folder: Path, run: str, since: int = 0) -> Tables:
        """What there is of a run, and the tokens of its batches from `since` on; makes nothing."""

    @classmethod
    def clashes(cls, pipeline: Pipeline, name: str, folder_of: FolderOf) -> list[str]:
        """Why what is there under a name cannot take the rows of a pipeline, each in a clause.

        Raises:
            SinkUnreachable: it cannot be looked at from here.
        """

    @classmethod
    def additions(cls, pipeline: Pipeline, name: str, folder_of: FolderOf) -> list[str]:
        """What is added under a name for a pipeline; nothing, where nothing is there yet.

        Raises:
            SinkUnreachable: it cannot be looked at from here.
        """

    @classmethod
    def newest(cls, pipeline: Pipeline) -> str | None:
        """Where users find the newest rows, as a sentence; None: in Delta tables in the folder."""


SINKS: Final = Registry[type[Sink]]("sink", "sinks")
"""Every sink by its key under `sink:`."""

_Class = TypeVar("_Class", bound=type[Sink])
_ASKED: Final = ("write", "take", "open", "kept", "clashes", "additions", "newest")


def sink(key: str) -> Callable[[_Class], _Class]:
    """Register the decorated class as the sink of `sink: {key: NAME}`.

    Raises:
        PluginError: the class is no sink, or another has this key.
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
    """The sink that a pipeline names.

    Raises:
        PluginError: it is a plug-in's, which cannot be imported.
    """
    return SINKS[pipeline.destination.kind]
