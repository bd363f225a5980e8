"""Expectations of window outputs by their names: the registry, ours and those of users' packages.

Any other expectation is Great Expectations' own. Importing this module does not import it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeVar

from windowing.model.registry import PluginError, Registry

if TYPE_CHECKING:  # importing it takes seconds
    from great_expectations.expectations.expectation import Expectation

WINDOW_SET: Final = "expect_window_set_to_match_definition"
REVISIONS: Final = "expect_revisions_to_rise_without_holes"
CONSERVED: Final = "expect_records_to_be_conserved"
FEW_DEAD: Final = "expect_dead_records_to_be_few"
FEW_LATE: Final = "expect_late_records_to_be_few"
COMPLETE: Final = "expect_windows_to_be_complete"
FRESH: Final = "expect_newest_window_to_be_fresh"
FEW_REVISED: Final = "expect_revisions_to_be_few"
PLAUSIBLE: Final = "expect_event_times_to_be_plausible"
SUMS_FIT: Final = "expect_sums_to_fit"
STEADY: Final = "expect_window_values_to_be_steady"

OF_COUNTS: Final = (CONSERVED, FEW_DEAD, FEW_LATE)
"""Expectations that judge the accounting of records, not rows."""

OF_REVISIONS: Final = (REVISIONS, FEW_REVISED)
"""Expectations that judge all revisions of each window."""

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
