"""Compares two runs that work beside each other on the real stack, while both go on.

What a run has written is read before the offsets are that the other must have committed: so the
other's rows are those of at least as much of the log, and must have the same lines.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from chaos.handover.shared import SharedParts, agree, letters_lacking, shared
from chaos.readers.catalogue import read_output
from chaos.readers.log import LogRecord
from chaos.readers.output import Output
from chaos.readers.topic import read_topics
from chaos.replay.production import Window, same_windows
from chaos.verdict.contrast import Change, Contrast
from infra.endpoints import Endpoints
from jobs import runs
from jobs.runs.choice import live_run, meant, name_in
from jobs.runs.life import State
from jobs.runs.looking import life_of
from windowing.model import Pipeline

_POLL_S: Final = 0.5
_LOOK_S: Final = 1.0
_GOES_ON: Final = frozenset({State.submitted, State.waiting, State.running, State.restarting})

Offsets = dict[int, int]


class HandoverError(RuntimeError):
    """Runs that cannot be compared, or cannot be compared yet."""

    exit_code = 1


class NothingToMigrate(RuntimeError):
    """A file that needs no migration."""

    exit_code = 2


@dataclass(frozen=True)
class RunComparison:
    """The comparison of two runs.

    Attributes:
        windows: the windows of both runs that must agree.
        letters: dead letters that one of the runs lacks.
        apart: what was not compared, and why.
    """

    windows: Contrast
    letters: tuple[str, ...]
    apart: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether they agree where they must."""
        return not (self.windows.differing or self.letters)

    def sentences(self) -> list[str]:
        """Return sentences about what was compared, and the result."""
        lines = [*self.apart]
        lines.append(f"{self.windows.before} and {self.windows.after}: {self.windows.summary()}")
        if self.letters:
            lines.append(f"dead letters that one lacks: {len(self.letters)}, as {self.letters[0]}")
        return lines


def sides(endpoints: Endpoints, file: Path, to: str) -> tuple[runs.Run | None, runs.Run]:
    """Find the live run of a pipeline, and the run that is to take over.

    Returns:
        both; None as the live run if the other one is already live, and nothing is left to do.

    Raises:
        RunError: there is no such run, or it has never worked beside the live one.
        HandoverError: the job of the run that is to take over is dead.
        InfraError: the master does not answer.
    """
    green = meant(endpoints, file, to)
    blue = live_run(endpoints, name_in(endpoints, file))
    if blue is None or blue.run == green.run:
        return None, green
    life = life_of(endpoints, green)
    if life.state not in {*_GOES_ON, State.finished}:
        why = f" ({life.why})" if life.why else ""
        msg = (
            f"run {green.run} is {life.state}{why}: what takes over has to live: "
            f"`slackwater submit {file} --run {green.run} --beside` lets it go on"
        )
        raise HandoverError(msg)
    return blue, green


def caught_up(
    endpoints: Endpoints, blue: runs.Run, green: runs.Run, *, within_s: float
) -> Iterator[tuple[int, int]]:
    """Wait until a new run has read as much as the live one had when this began.

    Yields:
        every second, how many offsets of that it has read, and how many there are.

    Raises:
        HandoverError: it did not come so far in time, or its job has ended.
    """
    theirs, until_s = green.own_pipeline(), time.monotonic() + within_s
    begin, ends = green.options.first or {}, _reached(blue, theirs)
    total = sum(max(0, end - begin.get(lane, 0)) for lane, end in ends.items())
    while lag := _await(green, theirs, ends, time.monotonic() + _LOOK_S):
        yield total - min(lag, total), total
        life = life_of(endpoints, green)
        if life.state not in _GOES_ON:
            msg = f"run {green.run} is {life.state}: {life.why or 'it has ended'}"
            raise HandoverError(msg)
        if time.monotonic() > until_s:
            msg = (
                f"run {green.run} is {lag:,} offsets behind run {blue.run} after {within_s:.0f} s: "
                "call it again, and it goes on waiting; or give it longer by --within"
            )
            raise HandoverError(msg)
    yield total, total


def compare(
    endpoints: Endpoints,
    blue: runs.Run,
    green: runs.Run,
    *,
    within_s: float,
    news: Callable[[str], None],
) -> RunComparison:
    """Compare what two runs have written where they must agree.

    The live run, `blue`, may have ended; one run may take `within_s` seconds to catch up with the
    other.

    Raises:
        HandoverError: the new run is behind.
        OutputError: an output cannot be read.
        LogError: the log is needed to find what must agree, and cannot be read.
    """
    ours, theirs = blue.own_pipeline(), green.own_pipeline()
    begun_with = blue.fingerprint or ours.fingerprint
    of = shared(ours, theirs, same_code=ours.wrote(begun_with))
    until_s, names = time.monotonic() + within_s, (blue.run, green.run)
    written = _written(blue, ours)
    ends = _reached(blue, theirs)
    if lag := _await(green, theirs, ends, until_s):
        msg = (
            f"run {green.run} is {lag:,} offsets behind run {blue.run}: hand over when it has "
            "caught up (`slackwater runs` shows how far it is), or give it longer by --within"
        )
        raise HandoverError(msg)
    also = _written(green, theirs)
    windows = _same_windows(endpoints, (blue, ours), (green, theirs), ends, of)
    found = agree(of, written, also, names=names, windows=windows)
    letters = [] if windows is not None else letters_lacking(of, written, also)
    if windows is None and not found.differing:
        # And the other way round, for rows that only the new run has.
        goes_on = life_of(endpoints, blue).state in _GOES_ON
        if _await(blue, ours, _reached(green, ours), until_s if goes_on else 0):
            news(f"run {blue.run} is behind {green.run}: what it has not read is not compared")
        else:
            later = _written(blue, ours)
            found = _both(found, agree(of, also, later, names=(names[1], names[0])))
            letters += letters_lacking(of, also, later)
    return RunComparison(found, tuple(letters), of.apart)


def _both(one: Contrast, turned: Contrast) -> Contrast:
    """Merge two contrasts of the same runs, the second with its sides swapped."""
    differing = [pair for pair in turned.pairs if pair.change is not Change.same]
    known = {pair.place for pair in one.pairs}
    more = [pair.turned() for pair in turned.pairs if pair.place not in known or pair in differing]
    places = {pair.place for pair in more}
    kept = [pair for pair in one.pairs if pair.place not in places]
    return Contrast(one.before, one.after, (*kept, *more))


def _written(run: runs.Run, pipeline: Pipeline) -> Output:
    return read_output(pipeline, run.table, run.run)


def _reached(run: runs.Run, pipeline: Pipeline) -> Offsets:
    """Return the offsets up to which a run may have written, by the lanes of a pipeline."""
    return runs.planned_offsets(run.checkpoint, pipeline.source)


def _await(run: runs.Run, pipeline: Pipeline, ends: Offsets, until_s: float) -> int:
    """Wait until a run has committed up to some offsets; return how many it still lacks."""
    while True:
        _, committed = runs.committed_offsets(run.checkpoint, pipeline.source)
        lacking = sum(max(0, end - committed.get(lane, 0)) for lane, end in ends.items())
        if not lacking or time.monotonic() >= until_s:
            return lacking
        time.sleep(_POLL_S)


def _same_windows(
    endpoints: Endpoints,
    blue: tuple[runs.Run, Pipeline],
    green: tuple[runs.Run, Pipeline],
    ends: Offsets,
    of: SharedParts,
) -> set[Window] | None:
    """Return the windows that do not depend on where each run began; None: they began alike."""
    first, begins = (side[0].options.first or {} for side in (blue, green))
    if first == begins or not of.aggregates:
        return None
    pipeline, log = blue[1], list[LogRecord]()
    for record in read_topics(endpoints.kafka_bootstrap, pipeline.source):
        lane = pipeline.source.number(record.source, record.partition)
        if lane is not None and record.offset < ends.get(lane, 0):
            log.append(record)
    return same_windows(pipeline, log, first, begins)
