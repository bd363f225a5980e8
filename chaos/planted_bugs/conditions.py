"""Lairs: the pipelines in which a defect can show, as far as a pipeline says it.

A search for a defect that lives in joins need not draw sessions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from windowing.model.file.pipeline import Pipeline, Query
from windowing.model.progress.disorder import progress_attr
from windowing.model.windows.by_record import SlideByN, SlideByRank, SlideByTuple
from windowing.model.windows.landmark import Landmark
from windowing.model.windows.pairs import Pairs
from windowing.model.windows.rows import RowWindow
from windowing.model.windows.session import Session
from windowing.model.windows.sliding import Sliding
from windowing.model.windows.window import ROW_NUM

Holds = Callable[[Pipeline, Query], bool]


@dataclass(frozen=True)
class SomeQuery:
    """Pipelines of which some query has all that is asked for.

    Attributes:
        asked: what a query must be like.
    """

    asked: tuple[Holds, ...]

    def __call__(self, pipeline: Pipeline) -> bool:
        """Whether the defect can show."""
        return any(
            all(holds(pipeline, query) for holds in self.asked) for query in pipeline.queries
        )


def some_query(*asked: Holds) -> SomeQuery:
    """Pipelines with a query of which all of this holds."""
    return SomeQuery(asked)


def sliding(_: Pipeline, query: Query) -> bool:
    """Sliding or tumbling, over the time or another attribute."""
    return isinstance(query.window, Sliding)


def landmark(_: Pipeline, query: Query) -> bool:
    """Landmark."""
    return isinstance(query.window, Landmark)


def session(_: Pipeline, query: Query) -> bool:
    """Sessions in time."""
    return isinstance(query.window, Session) and query.window.attribute != ROW_NUM


def join(_: Pipeline, query: Query) -> bool:
    """A join."""
    return isinstance(query.window, Pairs)


def outer(pipeline: Pipeline, query: Query) -> bool:
    """A join that shows records without a partner."""
    return join(pipeline, query) and pipeline.join is not None and pipeline.join.kind != "inner"


def rows_in_log(_: Pipeline, query: Query) -> bool:
    """Rows, numbered as they arrive."""
    window = query.window
    return isinstance(window, RowWindow) and window.order == "log"


def ranked_rows(_: Pipeline, query: Query) -> bool:
    """Rows, numbered by their time."""
    window = query.window
    return isinstance(window, RowWindow) and window.order == "event_time"


def defined(_: Pipeline, query: Query) -> bool:
    """Windows that records define."""
    return query.window.traits.at_records


def by_tuple(_: Pipeline, query: Query) -> bool:
    """A window for each value."""
    return isinstance(query.window, SlideByTuple)


def by_n(_: Pipeline, query: Query) -> bool:
    """A window for each n-th record as it arrives."""
    return isinstance(query.window, SlideByN)


def by_rank(_: Pipeline, query: Query) -> bool:
    """A window for each n-th record by its time."""
    return isinstance(query.window, SlideByRank)


def updates(_: Pipeline, query: Query) -> bool:
    """Late records are shown later."""
    return query.late.policy == "update"


def consistent(_: Pipeline, query: Query) -> bool:
    """Late for one window is late for all."""
    return query.late.mode == "consistent"


def dead_letters(_: Pipeline, query: Query) -> bool:
    """Late records without a window are dead letters."""
    return query.late.policy == "dead_letter"


def discarding(_: Pipeline, query: Query) -> bool:
    """Later rows show what is new."""
    return query.accumulation == "discarding"


def retracting(_: Pipeline, query: Query) -> bool:
    """Later rows take back the ones before."""
    return query.accumulation == "retracting" and not isinstance(query.window, Pairs)


def overlapping(_: Pipeline, query: Query) -> bool:
    """A record is in several windows."""
    return query.window.range_ is not None and query.window.range_ > query.window.slide


def by_pattr(_: Pipeline, query: Query) -> bool:
    """Windows for each value of an attribute."""
    return query.window.pattr is not None


def nullable_key(pipeline: Pipeline, query: Query) -> bool:
    """A field of the key may be null."""
    fields = pipeline.source.fields
    return any(fields[name].nullable for name in query.key if name in fields)


def keyed(_: Pipeline, query: Query) -> bool:
    """Rows have keys."""
    return bool(query.key)


def several_lanes(pipeline: Pipeline, _: Query) -> bool:
    """More lanes than one."""
    return pipeline.source.partitions > 1


def several_shards(pipeline: Pipeline, _: Query) -> bool:
    """More shards than one."""
    return pipeline.shards > 1


def several_queries(pipeline: Pipeline, _: Query) -> bool:
    """More queries than one."""
    return len(pipeline.queries) > 1


def session_of_rows(_: Pipeline, query: Query) -> bool:
    """Sessions by records of other keys."""
    return isinstance(query.window, Session) and query.window.attribute == ROW_NUM


def with_own_gaps(_: Pipeline, query: Query) -> bool:
    """Sessions of which some keys have a gap of their own."""
    return bool(query.window.gaps)


def early(_: Pipeline, query: Query) -> bool:
    """Early rows are sent."""
    return query.early is not None


def another_attribute(pipeline: Pipeline, query: Query) -> bool:
    """Windows over a number of the records."""
    window, time = query.window, pipeline.source.event_time.field
    return not isinstance(window, Pairs) and window.attribute not in (ROW_NUM, time)


def idle(pipeline: Pipeline) -> bool:
    """Lanes may be silent for a while."""
    return pipeline.source.idle_timeout_us is not None and pipeline.source.partitions > 1


def iso_times(pipeline: Pipeline) -> bool:
    """Times are ISO texts, on one side of a join at least."""
    return any(part.event_time.unit == "iso" for part in pipeline.source.parts)


def per_key(pipeline: Pipeline) -> bool:
    """Event time goes per key."""
    return progress_attr(pipeline.source.disorder) is not None


@dataclass(frozen=True)
class by_generator:  # noqa: N801 - reads as the functions above do
    """Pipelines whose lanes have one of some generators.

    Attributes:
        kinds: the generators.
    """

    kinds: tuple[type, ...]

    def __init__(self, *kinds: type) -> None:
        object.__setattr__(self, "kinds", kinds)

    def __call__(self, pipeline: Pipeline) -> bool:
        """Whether they do."""
        return isinstance(pipeline.source.disorder, self.kinds)


@dataclass(frozen=True)
class computing:  # noqa: N801 - reads as the functions above do
    """A query that has one of some aggregates.

    Attributes:
        functions: their names.
        kind: of their field; None: any.
    """

    functions: tuple[str, ...]
    kind: str | None = None

    def __call__(self, pipeline: Pipeline, query: Query) -> bool:
        """Whether it has one."""
        fields = pipeline.source.fields
        return not isinstance(query.window, Pairs) and any(
            a.function in self.functions
            and (self.kind is None or (a.field is not None and fields[a.field].kind == self.kind))
            for a in query.aggregates
        )
