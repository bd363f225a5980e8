"""The checks of a run: pure functions of its history and of the verdict on its output.

Each returns passed, failed, unknown or unsupported, with the reason. The outcome of a run is the
worst of its checks': failed, then unknown, then unsupported, then passed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from chaos.faults import FAULTS
from chaos.faults.fault import PoisonedRecord
from chaos.history import History
from chaos.readers.output import Output
from chaos.verdict.check import Check, FinishedRun, Outcome, State, StateError, States, check
from chaos.verdict.verify import Verdict


def _sent_poison(run: FinishedRun) -> bool:
    """Whether the plan has a fault that sends records to be rejected."""
    return any(FAULTS[name].poisons for name in run.faults)


def _was_hostile(run: FinishedRun) -> bool:
    return "hostile_producer" in run.faults


def _deployed(run: FinishedRun) -> bool:
    return any(run.history.of("deployed"))


def _took_something(run: FinishedRun) -> bool:
    """Whether a fault removed something that the job's error may have to name."""
    return any(run.history.of("named"))


@check("deterministic", order=1)
def deterministic(verdict: Verdict) -> Check:
    """Check that the output is the definition's, revision by revision, byte for byte."""
    totals = zip(verdict.rows.totals, verdict.dead.totals, strict=True)
    lost, duplicated, differing = (rows + dead for rows, dead in totals)
    detail = (
        f"{verdict.rows.found} rows and {verdict.dead.found} dead letters: "
        f"lost {lost}, duplicated {duplicated}, differing {differing}"
    )
    good = not (verdict.rows.differences or verdict.dead.differences or verdict.disorder)
    if good and verdict.rows.expected == 0:
        return Check("deterministic", Outcome.unknown, "the definition has no row: nothing shown")
    evidence = () if good else tuple(verdict.lines())
    return _check("deterministic", good, detail, evidence)


@check("exactly_once", order=2)
def exactly_once(verdict: Verdict) -> Check:
    """Check that every record read was applied, outside, dropped or dead, exactly once."""
    duplicated = verdict.rows.totals[1] + verdict.dead.totals[1]
    good = duplicated == 0 and all(part.ok for part in verdict.conservation)
    detail = "; ".join(str(part) for part in verdict.conservation)
    return _check("exactly_once", good, f"{detail}; {duplicated} identities twice")


@check("poison", order=5, when=_sent_poison)
def poison(poisoned: Sequence[PoisonedRecord], output: Output) -> Check:
    """Check that every poisoned record is a dead letter with the right reason."""
    by_place = {(int(i[1]), int(i[2])): line for i, line in output.dead if i[3] == "null"}
    missing = [
        f"partition {one.partition}, offset {one.offset}: should be refused as {one.reason}, found "
        f"{by_place.get((one.partition, one.offset), 'no dead letter')}"
        for one in poisoned
        if f'"reason":"{one.reason}"' not in by_place.get((one.partition, one.offset), "")
    ]
    detail = f"{len(poisoned) - len(missing)} of {len(poisoned)} poisoned records are dead letters"
    if not poisoned:
        return Check("poison", Outcome.unknown, "no poison was sent: nothing shown")
    return _check("poison", not missing, detail, tuple(missing))


@check("nothing_imported", order=9, when=_was_hostile)
def nothing_imported(imported: Sequence[str]) -> Check:
    """Check that the job imported nothing because a record of its log names it."""
    detail = "no class that only the log names was imported"
    return _check("nothing_imported", not imported, detail, tuple(imported))


@check("progress", order=4)
def progress(history: History, lanes: Mapping[str, int | None]) -> Check:
    """Check that progress and offsets never fall and no window is emitted before all lanes pass it.

    Args:
        history: has `progress` of lanes and `emitted` windows, by batch.
        lanes: all lanes of the source, each with the progress at which it joined. None: the lane
            was there from the start, and holds back all windows until it reports progress.
    """
    wrong: list[str] = []
    for lane in lanes:
        steps = sorted((e for e in history.of("progress") if e["lane"] == lane), key=_batch)
        for before, after in pairwise(steps):
            if _reached(after) < _reached(before):
                wrong.append(f"{lane}: progress falls from batch {before['batch']} on: {after}")
            if after["first"] <= before["last"]:
                wrong.append(f"{lane}: batch {after['batch']} reads offset {after['first']} again")
    early, windows = _closed_early(history, lanes)
    wrong += early
    if not windows:
        return Check("progress", Outcome.unknown, "no window was sent: nothing shown")
    steps_seen = sum(1 for _ in history.of("progress"))
    detail = f"{steps_seen} steps of {len(lanes)} lanes, windows sent in {windows} batches"
    return _check("progress", not wrong, detail, tuple(wrong))


def _closed_early(history: History, lanes: Mapping[str, int | None]) -> tuple[list[str], int]:
    """Find batches that emitted a window whose end some lane had not reached."""
    steps = sorted(history.of("progress"), key=_batch)
    emitted = sorted(history.of("emitted"), key=_batch)
    reached = {lane: _NEVER if since is None else since for lane, since in lanes.items()}
    wrong, at = [], 0
    for batch in emitted:
        while at < len(steps) and steps[at]["batch"] <= batch["batch"]:
            reached[steps[at]["lane"]] = _reached(steps[at])
            at += 1
        if batch["end_us"] is not None and min(reached.values()) < batch["end_us"]:
            slow = min(reached, key=lambda lane: reached[lane])
            wrong.append(
                f"batch {batch['batch']} sends a window of {batch['query']} that ends at "
                f"{batch['end_us']}, and {slow} has reached {reached[slow]}"
            )
    return wrong, len({batch["batch"] for batch in emitted})


_NEVER = -(2**63)


def _batch(entry: Any) -> int:
    return int(entry["batch"])


def _reached(entry: Any) -> int:
    return _NEVER if entry["progress_us"] is None else int(entry["progress_us"])


@check("recovered", order=6)
def recovered(history: History, within_s: float) -> Check:
    """Check that a whole new batch was committed within the bound after every fault."""
    stuck = [f"{e['name']}: no new batch for {e['seconds']:.1f} s" for e in history.of("stuck")]
    times = [(e["seconds"], e["name"]) for e in history.of("recovered")]
    slow = [f"{name}: {seconds:.1f} s" for seconds, name in times if seconds > within_s]
    if not times and not stuck:
        return Check("recovered", Outcome.unknown, "no fault took effect: nothing shown")
    slowest = max(times, default=(0.0, "none"))
    detail = (
        f"{len(times)} of {len(times) + len(stuck)} faults recovered from, the slowest "
        f"({slowest[1]}) in {slowest[0]:.1f} s; stated bound {within_s:g} s"
    )
    return _check("recovered", not (stuck or slow), detail, (*stuck, *slow))


def took_effect(history: History, planned: int) -> Check:
    """Check that every planned fault has evidence; without it a run proves nothing."""
    failed = {e["fault"]: f"{e['name']}: {e['why']}" for e in history.of("no_effect")}
    refused = {e["fault"]: f"{e['name']}: {e['why']}" for e in history.of("unsupported")}
    struck = {e["fault"] for e in history.of("fault")} - failed.keys()
    detail = f"{len(struck)} of {planned} faults took effect"
    if refused:
        detail += f", {len(refused)} cannot be done on this machine"
    if len(struck) == planned:
        outcome = Outcome.passed
    elif len(struck) + len(refused) == planned:
        outcome = Outcome.unsupported
    else:
        outcome = Outcome.unknown
    return Check("took effect", outcome, detail, (*failed.values(), *refused.values()))


@check("one_job", order=8, when=_deployed)
def one_job(history: History) -> Check:
    """Check that an interrupted deployment succeeds with one driver, and never two at a time."""
    answers = list(history.of("deployed"))
    if not answers:
        return Check("one_job", Outcome.unknown, "nothing was deployed: nothing shown")
    wrong = tuple(
        f"{e['name']}: submit is {e['state']}, {e['most']} drivers at once at the most, "
        f"{len(e['left'])} afterwards"
        for e in answers
        if e["state"] != "success" or e["most"] > 1 or len(e["left"]) != 1
    )
    detail = f"{len(answers) - len(wrong)} of {len(answers)} deployments came through, without twin"
    return _check("one_job", not wrong, detail, wrong)


@check("named", order=7, when=_took_something)
def named(history: History) -> Check:
    """Check that the job named what a fault removed, or continued without losing anything."""
    answers = list(history.of("named"))
    if not answers:
        return Check("named", Outcome.unknown, "nothing was taken from the job: nothing shown")
    wrong = tuple(
        f"{e['name']}: the error lacks {', '.join(e['missing'])}: {e['said']}"
        for e in answers
        if e["missing"]
    ) + tuple(_unexpected(e) for e in answers if e.facts.get("expected") not in (None, _came_to(e)))
    went_on = [e["name"] for e in answers if e["said"] is None]
    detail = f"{len(answers) - len(went_on) - len(wrong)} of {len(answers)} losses named"
    if went_on:
        detail += f"; needed no more, so that the job went on: {', '.join(went_on)}"
    return _check("named", not wrong, detail, wrong)


def _came_to(entry: Any) -> str:
    return "harmless" if entry["said"] is None else "named"


def _unexpected(entry: Any) -> str:
    did = "went on in silence" if entry["said"] is None else f"said: {entry['said']}"
    return f"{entry['name']}: should be {entry['expected']}, and the job {did}"


def _check(name: str, good: bool, detail: str, evidence: tuple[str, ...] = ()) -> Check:
    return Check(name, Outcome.passed if good else Outcome.failed, detail, evidence)


def _can_be_compared(run: FinishedRun) -> bool:
    """Whether the log still has every record that a clean run would read."""
    return run.states is not None or not run.taken


@check("state", order=3, when=_can_be_compared, takes_s=30)
def same_state(states: States | None) -> Check:
    """Check that lanes and shards keep the same state at the end of the log as in a clean run."""
    if states is None:
        detail = "the run did not take in all of its log: nothing to compare"
        return Check("state", Outcome.unknown, detail)
    try:
        read = states()
    except StateError as error:
        return Check("state", Outcome.unknown, f"nothing to compare with: {error}")
    return compare_states(read["judged"], read["clean"])


def compare_states(found: State, wanted: State) -> Check:
    """Compare every table of every lane and shard."""
    rows = sum(len(table) for table in wanted.values())
    if rows == 0:
        return Check("state", Outcome.unknown, "the clean run keeps nothing: nothing shown")
    wrong = [place for place in sorted({*found, *wanted}) if found.get(place) != wanted.get(place)]
    parts = len({part for part, _ in wanted})
    detail = f"{rows} rows of state in {parts} lanes and shards, {len(wrong)} tables differ"
    outcome = Outcome.failed if wrong else Outcome.passed
    return Check("state", outcome, detail, tuple(_shown(found, wanted, wrong[0])) if wrong else ())


def _shown(found: State, wanted: State, place: tuple[str, str]) -> list[str]:
    left, right = found.get(place, []), wanted.get(place, [])
    longest = max(len(left), len(right))
    at = next(n for n in range(longest) if left[n : n + 1] != right[n : n + 1])
    return [
        f"{place[0]}, table {place[1]}: {len(left)} rows, clean {len(right)}, first in row {at}",
        f"  faulted: {json.dumps(left[at : at + 1])}",
        f"  clean:   {json.dumps(right[at : at + 1])}",
    ]
