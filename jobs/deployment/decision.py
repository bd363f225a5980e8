"""The decision on what `submit` does with a file, made before any change.

A pure function of the request and the existing runs: it attaches to a running run, resumes one from
its checkpoint, starts a new one, or refuses and lists the alternatives as commands. It never stops
a running job without the user's permission.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from jobs.deployment.change import Change, Kind

_NUMBERED = "r"
"""The prefix of proposed run names, before their number."""


class RequestRefusal(RuntimeError):
    """A request that would stop or mix runs without permission; nothing was done."""

    exit_code = 2


class RunAction(StrEnum):
    """The action on a run."""

    attach = "attach"
    go_on = "go on"
    begin = "begin"


@dataclass(frozen=True)
class KnownRun:
    """An existing run of the pipeline.

    Attributes:
        change: the effect of the file on it.
        alive: whether it has a job that is running or starting.
        beside: whether it runs beside the live one.
    """

    change: Change
    alive: bool
    beside: bool = False


@dataclass(frozen=True)
class Wish:
    """The user's request.

    Attributes:
        file: the pipeline file, as given.
        run: the run's name; None: the one that fits the file.
        origin: where a new run starts, as given; None: at the beginning of the log.
        beside: whether to run a new run beside the live one.
        replace: whether the jobs of other runs may be stopped.
    """

    file: Path
    pipeline: str
    run: str | None = None
    origin: str | None = None
    beside: bool = False
    replace: bool = False

    def command(self, run: str, *more: str) -> str:
        """The command that submits the file as a run."""
        return shlex.join(["slackwater", "submit", str(self.file), "--run", run, *more])


@dataclass(frozen=True)
class Plan:
    """The decision.

    Attributes:
        step: the action on the run.
        ends: the runs whose jobs are stopped first.
        beside: whether the live run stays live.
        takes_file: whether an existing run takes the file as its copy; the meaning is the same.
        grows: whether queries are added to an existing run, whose state is converted first.
        said: all of this in sentences.
    """

    step: RunAction
    run: str
    ends: tuple[str, ...] = ()
    beside: bool = False
    takes_file: bool = False
    grows: bool = False
    said: tuple[str, ...] = ()


def plan(wish: Wish, known: Mapping[str, KnownRun], live: str | None) -> Plan:
    """Decide what to do.

    Args:
        known: the pipeline's runs, by name.
        live: the one that commands take by default; None: there is none.

    Raises:
        RequestRefusal: nothing is done; the message lists the alternatives.
    """
    run = wish.run or _meant(wish, known, live)
    if run not in known:
        return _begin(wish, run, known, live)
    found = known[run]
    if not found.change.goes_on:
        raise RequestRefusal(_changed(wish, run, known))
    if wish.origin is not None:
        msg = f"run {run} has begun, and --from is for a new one: give it a name that is not taken"
        raise RequestRefusal(msg)
    grows = found.change.kind is Kind.other_queries
    if found.alive and grows:
        raise RequestRefusal(_stop_first(wish, run, known))
    if found.alive:
        opening = f"run {run} of pipeline {wish.pipeline} lives, and nothing is submitted: "
        return Plan(
            RunAction.attach,
            run,
            beside=found.beside or wish.beside,
            takes_file=found.change.kind is Kind.compatible,
            said=_meaning(opening, found.change),
        )
    beside = wish.beside or (found.beside and run != live)
    # What runs beside the live run does so whether the live one has a job or not.
    others = {name: one for name, one in known.items() if not (run == live and one.beside)}
    ends = _ends(wish, run, others, beside=beside)
    opening = f"run {run} of pipeline {wish.pipeline} goes on from its checkpoint: "
    return Plan(
        RunAction.go_on,
        run,
        ends,
        beside,
        takes_file=found.change.kind is Kind.compatible,
        grows=grows,
        said=(*_meaning(opening, found.change), *_ending(ends)),
    )


def _meant(wish: Wish, known: Mapping[str, KnownRun], live: str | None) -> str:
    if live is None:
        return fresh_name(known)
    if known[live].change.goes_on and not wish.beside and wish.origin is None:
        return live
    if wish.beside or wish.replace:
        return fresh_name(known)
    return live  # which is then rejected, with the alternatives


def fresh_name(known: Mapping[str, KnownRun]) -> str:
    """Return a name that no run of the pipeline has."""
    numbers = [
        int(name[len(_NUMBERED) :])
        for name in known
        if name.startswith(_NUMBERED) and name[len(_NUMBERED) :].isdecimal()
    ]
    return f"{_NUMBERED}{max(numbers, default=0) + 1}"


def _begin(wish: Wish, run: str, known: Mapping[str, KnownRun], live: str | None) -> Plan:
    ends = _ends(wish, run, known, beside=wish.beside)
    where = "the beginning of the log" if wish.origin is None else wish.origin
    sentences = [f"run {run} of pipeline {wish.pipeline} is a new one, and begins at {where}"]
    if wish.beside and live is not None:
        over = shlex.join(["slackwater", "handover", str(wish.file), "--to", run])
        sentences.append(f"it works beside run {live}, which stays the live one until `{over}`")
    beside = wish.beside and live is not None
    return Plan(RunAction.begin, run, ends, beside, said=(*sentences, *_ending(ends)))


def _ends(wish: Wish, run: str, known: Mapping[str, KnownRun], *, beside: bool) -> tuple[str, ...]:
    """Return the runs whose jobs are stopped for this one.

    Raises:
        RequestRefusal: the user has not allowed it.
    """
    living = tuple(sorted(name for name, one in known.items() if one.alive and name != run))
    if not living or beside:
        return ()
    if wish.replace:
        return living
    more = [] if wish.origin is None else ["--from", wish.origin]
    ways = [(wish.command(run, *more, "--replace"), f"end {_listed(living)}, then submit {run}")]
    if run not in known:
        ways.append((wish.command(run, *more, "--beside"), "let both work, until one takes over"))
    msg = (
        f"run {_listed(living)} of pipeline {wish.pipeline} has a job that lives, which run {run} "
        f"would end: say which is meant{_spelled(ways)}"
    )
    raise RequestRefusal(msg)


def _changed(wish: Wish, run: str, known: Mapping[str, KnownRun]) -> str:
    """Format the rejection of a file whose meaning differs from the run's."""
    new, change = fresh_name(known), known[run].change
    living = [name for name, one in known.items() if one.alive]
    replace = ["--replace"] if living else []
    ended = f", ending the job of {_listed(living)}" if living else ""
    ways = [
        (wish.command(new, *replace), f"a new run from the beginning of the log{ended}"),
        (wish.command(new, "--from", run, *replace), f"the same from where run {run} is{ended}"),
        (
            wish.command(new, "--from", "2013-01-02T00:00Z", *replace),
            f"the same from what was appended at a time{ended}",
        ),
    ]
    if living:
        over = shlex.join(["slackwater", "handover", str(wish.file), "--to", new])
        ways.append((wish.command(new, "--beside"), f"the new run works beside, until `{over}`"))
    differing = "".join(f"\n  {sentence}" for sentence in change.sentences)
    return (
        f"{wish.file} means something else than what run {run} of pipeline {wish.pipeline} was "
        f"begun with, so its checkpoint does not fit:{differing}\n"
        f"nothing was touched; the ways on are{_spelled(ways)}"
    )


def _stop_first(wish: Wish, run: str, known: Mapping[str, KnownRun]) -> str:
    """Format the rejection of other queries while the run has a job."""
    stop = shlex.join(["slackwater", "stop", str(wish.file), "--run", run])
    ways = [
        (f"{stop} && {wish.command(run)}", f"run {run} goes on with them, where it was"),
        (wish.command(fresh_name(known), "--beside"), "a new run reads all of the log for them"),
    ]
    queries = known[run].change.queries
    parts = (("adds", queries.added), ("ends", queries.ended))
    changes = " and ".join(f"{what} {', '.join(names)}" for what, names in parts if names)
    return (
        f"{wish.file} {changes} in run {run} of pipeline {wish.pipeline}, which has a job that "
        f"lives, and its state is converted for that: say which is meant{_spelled(ways)}"
    )


def _meaning(opening: str, change: Change) -> tuple[str, ...]:
    if change.kind is Kind.same:
        spelled = f"; spelled otherwise: {', '.join(change.sentences)}" if change.sentences else ""
        return (f"{opening}the file means what it was begun with{spelled}",)
    if change.kind is Kind.other_queries:
        return (f"{opening}its state is converted first, for its queries", *change.effects)
    return (f"{opening}what has changed is not part of the result", *change.effects)


def _ending(ends: tuple[str, ...]) -> tuple[str, ...]:
    return (f"the job of run {_listed(ends)} is ended first; its rows and checkpoint stay",) * bool(
        ends
    )


def _listed(runs: tuple[str, ...] | list[str]) -> str:
    return " and ".join(runs)


def _spelled(ways: list[tuple[str, str]]) -> str:
    return ":" + "".join(f"\n  {command}\n      {meaning}" for command, meaning in ways)
