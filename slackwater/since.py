"""The range that `verify --since` judges, and the log that it reads for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from slackwater.console import tell
from slackwater.files import broker

if TYPE_CHECKING:
    from chaos.readers.log import LogRecord
    from chaos.verdict.in_parts import Means
    from chaos.verdict.point import Point
    from slackwater.judged import Judged
    from windowing.model.source import Source

LAST: Final = "last"
"""The value of `--since` for what has come since the last verification."""

UNVERIFIED: Final = "unverified"
"""The value for the same, or for everything, if no verification has passed yet."""


@dataclass(frozen=True)
class Log:
    """The log of a run, or its end, which can be read again.

    Attributes:
        source: the pipeline's.
        file: an EVENTS.jsonl; None: the log is in the source's topics.
        bootstrap: the broker as given.
        first: first offset to read by lane; None: from the beginning.
        ends: first offset not to read, by lane; None: up to the end.
    """

    source: Source
    file: Path | None
    bootstrap: str | None
    first: Mapping[int, int] | None
    ends: Mapping[int, int] | None = None

    def __iter__(self) -> Iterator[LogRecord]:
        from chaos.readers.log import behind, read_events, up_to
        from chaos.readers.topic import read_topics

        if self.file:
            read = up_to(self.source, read_events(self.file, self.source), self.ends)
        elif self.ends is None:
            read = read_topics(broker(self.bootstrap), self.source, self.first)
        else:
            read = read_topics(broker(self.bootstrap), self.source, self.first, self.ends)
        return behind(self.source, read, self.first)

    def after(self, point: Point) -> Log:
        """Return the log from the last entries before a point on."""
        lasts = {lane: last.offset for lane, last in point.lasts_by_lane().items()}
        return replace(self, first={**(self.first or {}), **lasts})


def named_since(text: str | None, of: Judged) -> str | None:
    """Return where a range begins, once it is known whether a verification has passed yet."""
    if text == UNVERIFIED and of.point is not None:
        return LAST if of.point.exists() else None
    return text


def point_of(text: str | None, of: Judged, log: Log, means: Means, folder: Path) -> Point | None:
    """Return the point at which a range begins; None: it is the whole log.

    Args:
        text: as of `named_since`.
        of: the run or table that is judged.
        log: the whole log.
        means: what may be used to read it up to an offset or instant.
        folder: a temporary folder.

    Raises:
        BadParameter: neither offsets of existing lanes, nor a time, nor `last` with a run.
        PointError: there is no such point, or it is of another pipeline.
    """
    from chaos.verdict.point import read_point
    from chaos.verdict.ranges import offsets_at, point_before
    from slackwater.record import named_offsets
    from windowing.model.lengths import instant_us

    spec = of.pipeline
    if text is None:
        return None
    if text in (LAST, UNVERIFIED):
        if of.point is None:
            msg = f"--since {text}: only runs keep where a verification ended: give offsets"
            raise typer.BadParameter(msg)
        point = read_point(of.point)
        point.check(spec)
        return point
    if text.lstrip().startswith("{"):
        first = named_offsets("--since", text, spec.source)
    else:
        try:
            at_us = instant_us(text)
        except ValueError as error:
            msg = f'--since: {error}; or offsets, as {{"{spec.source.lane(0)}": 100}}; or last'
            raise typer.BadParameter(msg) from None
        first = offsets_at(spec, log, at_us)
    return point_before(spec, log, first, folder / "point.jsonl", means)


def kept_at(of: Judged) -> Path | None:
    """Return where the point at the end of a verification is kept; None: nowhere."""
    from chaos.verdict.ranges import why_no_point

    why = why_no_point(of.pipeline)
    if why is not None and of.point is not None:
        tell(f"--since last will not go on from here: {why}")
    return None if why is not None else of.point
