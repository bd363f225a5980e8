"""Every expectation that is made for window outputs, ours and those of users' packages.

One that is not here is Great Expectations' own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeVar

from windowing.model.registry import PluginError, Registry

if TYPE_CHECKING:  # it takes seconds
    from great_expectations.expectations.expectation import Expectation

EXPECTATIONS: Final = Registry["type[Expectation]"]("expectation", "expectations")
"""Expectations by the names that they have in `quality` blocks."""

_Class = TypeVar("_Class", bound="type[Expectation]")


def expectation(name: str) -> Callable[[_Class], _Class]:
    """Register the decorated class, an `Expectation` of Great Expectations for pandas batches.

    The frames that it judges have a row for each revision, as `chaos.quality.columns` says.

    Raises:
        PluginError: the class is no expectation, its name is not the class's, or another has it.
    """

    def register(class_: _Class) -> _Class:
        origin = f"{class_.__module__}.{class_.__qualname__}"
        own = getattr(class_, "expectation_type", None)
        if own != name:
            # Suites and pages know it by the name that Great Expectations makes of the class's.
            msg = f"{origin} cannot be the expectation {name!r}: its class's name makes it {own}"
            raise PluginError(msg)
        EXPECTATIONS.add(name, class_, origin)
        return class_

    return register
