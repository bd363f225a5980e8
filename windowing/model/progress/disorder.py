"""What the data of every generator of progress is: what a lane may assume about its disorder.

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
        name: by which the engine and the definition know their halves of it.
    """

    name: str

    @property
    def data(self) -> Any:
        """What both halves are made of."""
        return self

    @property
    def progress_attr(self) -> str | None:
        """The field whose every value has a progress of its own; None: progress is per lane."""
        return None

    @property
    def looks_at(self) -> str | None:
        """The field of the records that it goes by, beside the one that it bounds."""
        return None

    @property
    def named_lanes(self) -> Collection[str] | None:
        """The lanes that it speaks of, each by name, which must be all; None: it names none."""
        return None

    @property
    def unitless(self) -> bool:
        """Whether it means the same for any attribute, because it names no length of time."""
        return False

    @property
    def fits_numbers(self) -> bool:
        """Whether it may be given for an attribute that is a plain number."""
        return self.unitless

    def without_lanes(self, gone: Collection[str]) -> Disorder:
        """The same generator without what it says of some lanes."""
        del gone
        return self

    def misfit(self, fields: Mapping[str, FieldType]) -> str | None:
        """What is wrong with the values that it names, by the fields of a source; None: nothing."""
        del fields
        return None

    @abstractmethod
    def facts(self) -> Facts:
        """What it adds to a fingerprint.

        Raises:
            PluginError: it is a plug-in's, which cannot be imported or read.
        """

    @abstractmethod
    def explained(self, attribute: str, *, timed: bool) -> str:
        """How a lane gets its bounds by an attribute, in words.

        Args:
            attribute: the field that is bounded.
            timed: whether it is the event time, and not a plain number.
        """


Parse = Callable[[object], Any]
"""Makes the data of a generator from its settings in a pipeline file; None: there are none."""

GENERATORS: Final = Registry[Parse]("generator", "generators")
"""What reads a generator's settings, by the generator's name in pipeline files."""

_Class = TypeVar("_Class", bound=type)


def generator(name: str) -> Callable[[_Class], _Class]:
    """Register the decorated class, whose `parse` reads `disorder: {name: settings}`.

    `parse` takes the settings as the file has them, None where `disorder: name` gives none, and
    raises `ValueError`, with the rule, for what is no setting of it.

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
    """The pairs of a lane and what is said of it, without some lanes."""
    return tuple(pair for pair in named if pair[0] not in gone)
