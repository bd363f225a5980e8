"""The registry of window definitions; a user's class registers its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from windowing.model.flow import StreamFlow
from windowing.model.registry import Registry
from windowing.model.windows.by_record import SlideByN, SlideByRank, SlideByTuple
from windowing.model.windows.calendar import CalendarWindow
from windowing.model.windows.cumulate import Cumulate
from windowing.model.windows.landmark import Landmark
from windowing.model.windows.own import missing_plugin
from windowing.model.windows.rows import RowWindow
from windowing.model.windows.session import Session
from windowing.model.windows.sliding import Sliding
from windowing.semantics.windows.calendar import CalendarDefinition
from windowing.semantics.windows.cumulate import CumulateDefinition
from windowing.semantics.windows.definition import (
    ExtentDefinition,
    WindowDefinition,
)
from windowing.semantics.windows.landmark import LandmarkDefinition
from windowing.semantics.windows.sessions import SessionDefinition
from windowing.semantics.windows.slide_by_tuple import (
    SlideByNDefinition,
    SlideByRankDefinition,
    SlideByTupleDefinition,
)
from windowing.semantics.windows.sliding import SlidingDefinition
from windowing.semantics.windows.tuples import RowDefinition

DEFINITIONS: Final = Registry[Callable[[StreamFlow], WindowDefinition]](
    "window_definition", "window_definitions"
)
"""The definition of each class of windows, by kind."""

window_definition: Final = DEFINITIONS.entry
"""The decorator of a class that is the definition of the windows of a kind."""

for _kind, _definition in (
    (Sliding.kind, SlidingDefinition),
    (CalendarWindow.kind, CalendarDefinition),
    (Landmark.kind, LandmarkDefinition),
    (Cumulate.kind, CumulateDefinition),
    (RowWindow.kind, RowDefinition),
    (SlideByTuple.kind, SlideByTupleDefinition),
    (SlideByN.kind, SlideByNDefinition),
    (SlideByRank.kind, SlideByRankDefinition),
    (Session.kind, SessionDefinition),
):
    window_definition(_kind)(_definition)


def definition_of(query: StreamFlow) -> WindowDefinition:
    """Return the definition of a query's windows.

    Raises:
        PluginError: its plug-in cannot be imported.
    """
    kind = query.window.kind
    if kind not in DEFINITIONS:
        raise missing_plugin("window_definitions", kind)
    return DEFINITIONS[kind](query)


def extents_of(query: StreamFlow) -> ExtentDefinition:
    """Return the definition of windows whose numbers give their extents."""
    definition = definition_of(query)
    assert isinstance(definition, ExtentDefinition)  # noqa: S101 - others are DRAWN
    return definition
