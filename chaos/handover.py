"""Compares two runs that work beside each other on the real stack, while both go on.

What a run has written is read before the offsets are that the other must have committed: so the
other's rows are those of at least as much of the log, and must have the same lines.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from chaos.readers.catalogue import read_output
from chaos.readers.log import LogRecord
from chaos.readers.output import Line, Output
from chaos.readers.topic import read_topics
from chaos.replay.production import Window, same_windows
from chaos.verdict.contrast import Change, Contrast, contrast
from infra.endpoints import Endpoints
from jobs import runs
from jobs.runs.choice import live_run, meant, name_in
from jobs.runs.life import State
from jobs.runs.looking import life_of
from windowing.model.file.pipeline import Pipeline, Query
from windowing.model.fingerprint import facts_of
from windowing.model.operators.query import OperatorQuery
from windowing.model.query import JoinQuery

_Flow = Query | OperatorQuery | JoinQuery
_POLL_S: Final = 0.5
_LOOK_S: Final = 1.0
_GOES_ON: Final = frozenset({State.submitted, State.waiting, State.running, State.restarting})

Offsets = dict[int, int]


@dataclass(frozen=True)
class SharedParts:
    """The common parts of two versions of a pipeline.

    Attributes:
        aggregates: the common aggregates of each query that means the same in both.
        bad_values: whether both have the same dead letters that concern all queries.
        apart: sentences about what is not compared, and why.
    """

    aggregates: Mapping[str, frozenset[str]]
    bad_values: bool
    apart: tuple[str, ...]


def shared(blue: Pipeline, green: Pipeline, *, same_code: bool = True) -> SharedParts:
    """Find out where two versions of a pipeline must agree.

    `same_code` says whether the user's aggregates still have the code with which blue, the running
    version, was begun.
    """
    if _read(blue) != _read(green):
        why = "nothing is compared: the source is read otherwise, so all of it may differ"
        return SharedParts({}, bad_values=False, apart=(why,))
    ours, theirs = ({q.name: q for q in p.flows} for p in (blue, green))
    apart = [
        f"query {name} is not compared: only one of the runs has it"
        for name in sorted(ours.keys() ^ theirs.keys())
    ]
    common: dict[str, frozenset[str]] = {}
    for name in [name for name in ours if name in theirs]:
        one, other = ours[name], theirs[name]
        if one.by_wall_clock:
            apart.append(f"query {name} is not compared: it follows the machine's clock")
            continue
        if one.without_values() != other.without_values():
            apart.append(f"query {name} is not compared: its windows or its key are others")
            continue
        ours_shown, theirs_shown = one.values, other.values
        both = [n for n, shown in ours_shown.items() if shown == theirs_shown.get(n)]
        if not same_code:
            both = [n for n in both if n not in one.by_users]
        common[name] = frozenset(both)
        rest = [n for n in {**ours_shown, **theirs_shown} if n not in both]
        if rest:
            apart.append(f"of query {name} not compared: {', '.join(rest)}")
    lanes = range(blue.source.partitions)
    bad_values = all(blue.key_fields(n) == green.key_fields(n) for n in lanes)
    return SharedParts(common, bad_values, tuple(apart))


def _read(pipeline: Pipeline) -> object:
    facts = facts_of(pipeline.source, 0, pipeline.flows)
    join = facts.get("join")
    return (
        {n: f for n, f in join.items() if n != "select"} if isinstance(join, dict) else facts["log"]
    )


def agree(
    of: SharedParts,
    some: Output,
    more: Output,
    *,
    names: tuple[str, str],
    windows: Collection[Window] | None = None,
) -> Contrast:
    """Compare the output of a run with that of another one that has read at least as much.

    Output only grows: what a run has written after part of a log is also there after more of it.
    So rows of `more` that `some` lacks are not differences.

    Args:
        of: where the two must agree.
        some: output of the run that has read less.
        more: output of the run that has read more.
        windows: windows to compare; None: all.
    """
    ours = list(_projected(of, some.rows, windows))
    known = {identity for identity, _ in ours}
    theirs = [line for line in _projected(of, more.rows, windows) if line[0] in known]
    return contrast(ours, theirs, names=names)


def letters_lacking(of: SharedParts, some: Output, more: Output) -> list[str]:
    """Return the dead letters of `some` that `more` lacks or has for another reason, as lines."""
    concerned = {json.dumps(name) for name in of.aggregates}
    if of.bad_values and of.aggregates:
        concerned.add(json.dumps(None))
    theirs = set(more.dead)
    return [line[1] for line in some.dead if line[0][-1] in concerned and line not in theirs]


def _projected(
    of: SharedParts, rows: Iterable[Line], windows: Collection[Window] | None
) -> Iterable[Line]:
    kept = {json.dumps(name): values for name, values in of.aggregates.items()}
    for identity, line in rows:
        if identity[0] not in kept or (windows is not None and identity[:3] not in windows):
            continue
        row, names = json.loads(line), kept[identity[0]]
        if row["values"] is not None:
            row["values"] = {n: v for n, v in sorted(row["values"].items()) if n in names}
        yield identity, json.dumps(row, ensure_ascii=False, separators=(",", ":"))


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
        unproved: queries of the new run of which not all, or no window, was compared.
    """

    windows: Contrast
    letters: tuple[str, ...]
    apart: tuple[str, ...]
    unproved: tuple[str, ...] = ()

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
    return RunComparison(found, tuple(letters), of.apart, _unproved(of, theirs, found))


def _unproved(of: SharedParts, green: Pipeline, found: Contrast) -> tuple[str, ...]:
    """Return the queries of a new run that a comparison does not show to be right."""
    compared = {pair.place.query for pair in found.pairs}
    return tuple(
        flow.name
        for flow in green.flows
        if not flow.by_wall_clock
        and (flow.name not in compared or of.aggregates.get(flow.name) != frozenset(flow.values))
    )


def _both(one: Contrast, turned: Contrast) -> Contrast:
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
