"""The protocol of a reader of outputs, and the registry of readers by the key of their sink.

A reader shares nothing with the sink, since the verdict depends on it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol, TypeVar

from chaos.readers.output import Output
from windowing.model import Pipeline
from windowing.model.registry import Registry


class OutputReader(Protocol):
    """Reads what one run wrote."""

    def __call__(
        self, pipeline: Pipeline, folder: Path | None, run: str | None, *, before: int | None = None
    ) -> Output:
        """Read the output of a run.

        Args:
            pipeline: the pipeline that wrote it.
            folder: folder of the run's tables, for a sink that writes files.
            run: name of the run; None if there is only one.
            before: only what batches with lower numbers wrote; None: everything. A reader without
                this parameter can only read everything.

        Raises:
            OutputError: something is missing, or the run does not exist or is ambiguous.
        """


READERS: Final = Registry[OutputReader]("reader", "readers")
"""All readers by the key of their sink under `sink:`."""

_Function = TypeVar("_Function", bound=OutputReader)


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
