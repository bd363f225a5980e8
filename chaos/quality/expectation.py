"""Registry of expectations for window outputs, ours and those of users' packages.

Any other expectation is Great Expectations' own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeVar

from windowing.model.registry import PluginError, Registry

if TYPE_CHECKING:  # importing it takes seconds
    from great_expectations.expectations.expectation import Expectation

EXPECTATIONS: Final = Registry["type[Expectation]"]("expectation", "expectations")
"""Expectations by their names in `quality` blocks."""

_Class = TypeVar("_Class", bound="type[Expectation]")


def expectation(name: str) -> Callable[[_Class], _Class]:
    """Register the decorated class, an `Expectation` of Great Expectations for pandas batches.

    The frames that it judges have a row per revision, with the columns of `chaos.quality.columns`.

    Raises:
        PluginError: not an expectation, not named after the class, or the name is taken.
    """

    def register(class_: _Class) -> _Class:
        origin = f"{class_.__module__}.{class_.__qualname__}"
        own = getattr(class_, "expectation_type", None)
        if own != name:
            # Suites and pages use the name that Great Expectations derives from the class's.
            msg = f"{origin} cannot be the expectation {name!r}: its class's name makes it {own}"
            raise PluginError(msg)
        EXPECTATIONS.add(name, class_, origin)
        return class_

    return register
