"""All readers of outputs by the key of their sink: the built-in ones, then those of plug-ins."""

from __future__ import annotations

from importlib import import_module
from inspect import signature
from pathlib import Path

from chaos.readers.output import Output, OutputError
from chaos.readers.reader import COLUMNS, READERS, RunColumns
from windowing.model import Pipeline
from windowing.model.registry import PluginError

__all__ = ["READERS", "columns_of", "read_output", "takes_before"]

for _module in ("table", "postgres"):
    import_module(f"chaos.readers.{_module}")


def read_output(
    pipeline: Pipeline,
    folder: Path | None,
    run: str | None,
    *,
    before: int | None = None,
    sink: str | None = None,
) -> Output:
    """Read what a run wrote.

    Args:
        sink: the key of the sink that has the rows; None: the pipeline's.

    Raises:
        OutputError: as of the reader; or it cannot leave out later batches.
        PluginError: the sink is a plug-in's, and no reader for it is there.
    """
    kind = sink or pipeline.destination.kind
    if kind not in READERS:
        msg = f"no reader is there for sink: {{{kind}: NAME}}: its package must declare one"
        raise PluginError(msg)
    if before is None:
        return READERS[kind](pipeline, folder, run)
    if not takes_before(kind):
        msg = (
            f"the reader of sink: {{{kind}: NAME}} cannot leave out the batches of a job that goes "
            "on: give it the parameter `before`, or stop the job"
        )
        raise OutputError(msg)
    return READERS[kind](pipeline, folder, run, before=before)


def takes_before(sink: str) -> bool:
    """Whether the reader of a sink's rows can leave out later batches."""
    return sink not in READERS or "before" in signature(READERS[sink]).parameters


def columns_of(
    pipeline: Pipeline, folder: Path, run: str, before: int | None = None
) -> RunColumns | None:
    """Return the columns of what a run wrote; None: its sink is a plug-in's, and has only lines.

    Args:
        folder: the folder of the run's tables, for a sink that writes files.
        before: only what batches with lower numbers wrote; None: everything.

    Raises:
        OutputError: there is no such run, or nothing of it.
    """
    found = COLUMNS.get(pipeline.destination.kind)
    return None if found is None else found(pipeline, folder, run, before)
