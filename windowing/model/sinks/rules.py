"""The rules of a sink, as far as reading a pipeline file must know them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from windowing.model.windows.window import Window


def _any_names(query: str, columns: Sequence[str]) -> None:
    """Take a query and its columns as they are named."""
    del query, columns


def _any_window(window: Window) -> None:
    """Take a window wherever it begins."""
    del window


@dataclass(frozen=True)
class SinkRules:
    """What a sink asks of a pipeline. A plug-in's has the defaults: reading a file imports none.

    Attributes:
        title: the system that holds the rows, for sentences.
        place: what a sink's name names there.
        name_most: characters of the name at the most.
        earliest: no window may begin before this; None: it may begin anywhere.
        check_names: raises ValueError where a query, given with its columns, cannot be so named.
        check_window: raises WindowError where a window cannot be held.
    """

    title: str
    place: str = "the tables"
    name_most: int = 200
    earliest: int | None = None
    check_names: Callable[[str, Sequence[str]], None] = _any_names
    check_window: Callable[[Window], None] = _any_window
