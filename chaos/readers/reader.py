"""What a reader of an output is, and every reader by the key of its sink in pipeline files.

A reader shares nothing with the sink that wrote: it is half of a judgement.
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

    def __call__(self, pipeline: Pipeline, folder: Path | None, run: str | None) -> Output:
        """Read it.

        Args:
            pipeline: names the place and the queries.
            folder: of the run's tables, for a sink that writes files.
            run: which run; None where there is only one.

        Raises:
            OutputError: something is missing; no such run, or several to choose from.
        """


READERS: Final = Registry[OutputReader]("reader", "readers")
"""Every reader by the key of its sink under `sink:`."""

_Function = TypeVar("_Function", bound=OutputReader)


def reader(key: str) -> Callable[[_Function], _Function]:
    """Register the decorated function as the reader of what `sink: {key: NAME}` writes.

    Raises:
        PluginError: another reads it.
    """

    def register(function: _Function) -> _Function:
        name = getattr(function, "__qualname__", repr(function))
        READERS.add(key, function, f"{function.__module__}.{name}")
        return function

    return register
