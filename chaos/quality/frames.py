"""Registry of functions that return a run's frames for expectations, by sink."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from chaos.readers.catalogue import read_output
from windowing.model import Pipeline
from windowing.semantics import LogEntry

if TYPE_CHECKING:
    from chaos.quality.batches import RunOutput

Frames = Callable[[Pipeline, Path, str], "RunOutput"]
"""Returns a run's output, given its pipeline, the folder of its tables, and its name."""

_FRAMES: Final[dict[str, Frames]] = {}
_Function = TypeVar("_Function", bound=Frames)


def frames(key: str) -> Callable[[_Function], _Function]:
    """Register the decorated function for `sink: {key: NAME}`; it knows the sink's types."""

    def register(function: _Function) -> _Function:
        _FRAMES[key] = function
        return function

    return register


def frames_of(
    pipeline: Pipeline, folder: Path, run: str, log: Iterable[LogEntry]
) -> tuple[RunOutput, Iterable[LogEntry]]:
    """Return the output of a run as frames; those of a plug-in sink come from its reader's lines.

    Args:
        pipeline: the pipeline.
        folder: folder of the run's tables, for a sink that writes files.
        run: the run's name.
        log: the whole log; read only if the sink has no counts of records.

    Returns:
        the frames, and the log to continue with, since it can be read only once.

    Raises:
        OutputError: something is missing, or there is no such run.
        PluginError: the sink has no reader.
    """
    for module in ("batches", "postgres_batches"):
        import_module(f"chaos.quality.{module}")
    kind = pipeline.destination.kind
    if kind in _FRAMES:
        return _FRAMES[kind](pipeline, folder, run), log
    from chaos.quality.file_batches import RunLines  # noqa: PLC0415 - if wanted

    kept = [*log]
    return RunLines(read_output(pipeline, folder, run), pipeline, kept), kept
