"""The base of generators as data: what a lane may assume about the disorder of its records.

Source: Li et al., SIGMOD 2005.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final, TypeVar

from windowing.model.facts import Facts
from windowing.model.fields import FieldType
from windowing.model.registry import PluginError, Registry


class Disorder(ABC):
    """The data of a generator; `parse` of a class that `@generator` registers makes it.

    Attributes:
        name: the key under which the engine and the definition register their halves.
    """

    name: str

    @property
    def data(self) -> Any:
        """The data that both halves are built from."""
        return self

    @property
    def progress_attr(self) -> str | None:
        """The field whose values have separate progress each; None: progress is per lane."""
        return None

    @property
    def looks_at(self) -> str | None:
        """A field that it reads besides the one that it bounds, or None."""
        return None

    @property
    def named_lanes(self) -> Collection[str] | None:
        """The lanes with their own settings, which must be all; None: no settings per lane."""
        return None

    @property
    def unitless(self) -> bool:
        """Whether it applies to any attribute, because it contains no duration."""
        return False

    @property
    def fits_numbers(self) -> bool:
        """Whether it may be given for an attribute that is a plain number."""
        return self.unitless

    def without_lanes(self, gone: Collection[str]) -> Disorder:
        """Return the generator without its settings for some lanes."""
        del gone
        return self

    def misfit(self, fields: Mapping[str, FieldType]) -> str | None:
        """Return what is wrong with its values, given a source's fields, or None."""
        del fields
        return None

    @abstractmethod
    def facts(self) -> Facts:
        """Return its facts for the fingerprint.

        Raises:
            PluginError: its plug-in cannot be imported, or its source cannot be read.
        """

    @abstractmethod
    def explained(self, attribute: str, *, timed: bool) -> str:
        """Return a sentence on how a lane gets its bounds for an attribute.

        Args:
            attribute: the field that is bounded.
            timed: whether that is the event time, not a plain number.
        """


Parse = Callable[[object], Any]
"""A function from the settings in a pipeline file, None if absent, to a generator's data."""

GENERATORS: Final = Registry[Parse]("generator", "generators")
"""Parsers of settings, by the generator's name in pipeline files."""

_Class = TypeVar("_Class", bound=type)


def generator(name: str) -> Callable[[_Class], _Class]:
    """Register the decorated class, whose `parse` parses `disorder: {name: settings}`.

    `parse` takes the settings as in the file, or None for `disorder: name`, and raises
    `ValueError`, with the rule, for invalid ones.

    Raises:
        PluginError: the class has no `parse`, or another generator has this name.
    """

    def register(class_: _Class) -> _Class:
        origin = f"{class_.__module__}.{class_.__qualname__}"
        parse = getattr(class_, "parse", None)
        if parse is None:
            msg = f"{origin} cannot be the generator {name!r}: it lacks parse"
            raise PluginError(msg)
        GENERATORS.add(name, parse, origin)
        return class_

    return register


def only_lanes(named: Sequence[tuple[str, Any]], gone: Collection[str]) -> tuple[Any, ...]:
    """Return the pairs of lane and settings without those of some lanes."""
    return tuple(pair for pair in named if pair[0] not in gone)
