"""The rules of a sink that parsing a pipeline file checks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from windowing.model.windows.window import Window


def _any_names(query: str, columns: Sequence[str]) -> None:
    del query, columns


def _any_window(window: Window) -> None:
    del window


@dataclass(frozen=True)
class SinkRules:
    """A sink's rules for pipelines; a plug-in's sink has the defaults, as parsing imports none.

    Attributes:
        title: the name of the system, for messages.
        place: what `name` is the name of, such as a schema.
        name_most: the most characters of the name.
        earliest: no window may begin before this; None: no limit.
        in_folder: whether the rows are Delta tables in the run's folder of tables.
        takes_one: whether the rows of all queries may go to one table.
        check_names: raises ValueError if the names of a query and its columns are invalid.
        check_window: raises WindowError if the sink cannot hold the window.
    """

    title: str
    place: str = "the tables"
    name_most: int = 200
    earliest: int | None = None
    in_folder: bool = False
    takes_one: bool = False
    check_names: Callable[[str, Sequence[str]], None] = _any_names
    check_window: Callable[[Window], None] = _any_window
