"""Which class of windows has which definition: one file for each."""

from __future__ import annotations

from collections.abc import Callable

from windowing.model.file.pipeline import Query
from windowing.model.windows.by_record import SlideByN, SlideByRank, SlideByTuple
from windowing.model.windows.classes import known_class
from windowing.model.windows.landmark import Landmark
from windowing.model.windows.pairs import Pairs
from windowing.model.windows.rows import RowWindow
from windowing.model.windows.session import Session
from windowing.model.windows.sliding import Sliding
from windowing.model.windows.window import Window
from windowing.semantics.windows.definition import (
    CourseDefinition,
    ExtentDefinition,
    WindowDefinition,
)
from windowing.semantics.windows.joins import JoinDefinition
from windowing.semantics.windows.landmark import LandmarkDefinition
from windowing.semantics.windows.sessions import SessionDefinition
from windowing.semantics.windows.slide_by_n import SlideByNDefinition
from windowing.semantics.windows.slide_by_rank import SlideByRankDefinition
from windowing.semantics.windows.slide_by_tuple import SlideByTupleDefinition
from windowing.semantics.windows.sliding import SlidingDefinition
from windowing.semantics.windows.tuples import RowDefinition

DEFINITIONS: dict[type[Window], Callable[[Query], WindowDefinition]] = {
    Sliding: SlidingDefinition,
    Landmark: LandmarkDefinition,
    RowWindow: RowDefinition,
    SlideByTuple: SlideByTupleDefinition,
    SlideByN: SlideByNDefinition,
    SlideByRank: SlideByRankDefinition,
    Session: SessionDefinition,
    Pairs: JoinDefinition,
}


def definition_of(query: Query) -> WindowDefinition:
    """The definition of a query's windows."""
    return DEFINITIONS[known_class(query.window)](query)


def courses_of(query: Query) -> CourseDefinition:
    """The definition of the windows of any query but a join's."""
    definition = definition_of(query)
    assert isinstance(definition, CourseDefinition)  # noqa: S101 - joins have rows of their own
    return definition


def extents_of(query: Query) -> ExtentDefinition:
    """The definition of windows whose numbers give their extents."""
    definition = definition_of(query)
    assert isinstance(definition, ExtentDefinition)  # noqa: S101 - others are DRAWN
    return definition
