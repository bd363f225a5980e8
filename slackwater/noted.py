"""What commands say of a result that may surprise: on standard error, a line for each cause."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from slackwater.console import tell

if TYPE_CHECKING:
    from jobs.tools.times_seen import Times
    from windowing.model import Pipeline
    from windowing.model.fates import Counts
    from windowing.model.standing import LaneEnd, Waiting
    from windowing.runtime.local import LocalEngine, Output

_END_OF_FILE = "`--end` ends all lanes after the file"


def tell_notes(lines: Iterable[str]) -> None:
    """Print lines for people."""
    for line in lines:
        tell(f"note: {line}")


def tell_of_file(pipeline: Pipeline) -> None:
    """Say what the pipeline's file alone says."""
    from windowing.explain.notes import of_file

    tell_notes(of_file(pipeline))


def tell_of_run(
    pipeline: Pipeline,
    result: Output,
    counts: Mapping[str, Counts],
    times: Times,
    waiting: Mapping[str, Waiting],
) -> None:
    """Say what there is to say of a run over a file."""
    from windowing.explain.notes import Findings, grouped, notes

    bad = [
        (letter.reason, detail) for letter, detail in result.details.items() if letter.query is None
    ]
    found = Findings(
        pipeline,
        counts,
        Counter(row.query for row in result.rows),
        waiting,
        result.lanes,
        grouped(bad),
        times,
        _END_OF_FILE,
    )
    tell_notes(notes(found))


def waiting_of(
    pipeline: Pipeline, engine: LocalEngine | None, lanes: Mapping[int, LaneEnd], times: Times
) -> Mapping[str, Waiting]:
    """Return the open windows of each query: counted by the engine, or else by the calendar."""
    from windowing.model.run_errors import WindowingError

    if engine is not None:
        try:
            return engine.waiting()
        except WindowingError:
            pass  # an open window that has no result is none of this result's
    from jobs.overview.lanes import waiting_windows

    first = [seen.first_us for seen in times.values() if seen.first_us is not None]
    return waiting_windows(pipeline, lanes, min(first, default=None))
