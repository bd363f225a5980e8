"""Changes of a running pipeline's queries: written into its log, and awaited."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jobs.brokers.producing import Signer, send_together
from jobs.checkpoints.plans import read_checkpoint
from jobs.runs.folder import Run, failure, read_run
from windowing.engine.plan import plan_of
from windowing.explain.pipeline import cost
from windowing.model.control import WINDOWS_MAX
from windowing.model.file.changes import Change, ChangeRefusal, Copy, changed

_LOOK_S = 1.0


class NoChange(RuntimeError):
    """A run whose queries the log cannot change, or a change that it did not take."""

    exit_code = 1


@dataclass(frozen=True)
class LoggedChange:
    """A change in a run's log.

    Attributes:
        copies: by lane name, the offset of its copy.
    """

    run: Run
    copies: Mapping[str, int]


def write_change(run: Run, bootstrap: str, queries: Mapping[str, Any]) -> LoggedChange:
    """Write a change of the queries into every lane of a run's log, or into none.

    Args:
        queries: what is under `queries` in the control record.

    Raises:
        NoChange: the pipeline is a join, which has no queries.
        BrokerError: no broker answers, or it refuses.
    """
    pipeline = run.own_pipeline()
    if not pipeline.query_files:
        msg = f"pipeline {pipeline.name} is a join: it has no queries that could join or leave"
        raise NoChange(msg)
    source, text = pipeline.source, json.dumps({"queries": queries}, separators=(",", ":"))
    signer = Signer(source.control)
    controls = {
        number: signer.signed(source.lane(number), text) for number in range(source.partitions)
    }
    transaction = f"slackwater-queries-{pipeline.name}"
    offsets = send_together(bootstrap, source.topic, controls, transaction)
    return LoggedChange(run, {source.lane(number): offset for number, offset in offsets.items()})


def costs(run: Run, added: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Say what queries would add to the state of a run, by name.

    Args:
        added: what is under `queries.add` in the control record.

    Raises:
        NoChange: no file can have them beside the run's queries, or its log may not add them.
    """
    before = run.own_pipeline()
    after = changed(before, Copy(before.source.lane(0), 0, Change(added, {})))
    if isinstance(after, str):
        raise NoChange(_why_not(run, added, after))
    plan = plan_of(after)
    return {name: cost(plan, name) for name in added}


def _why_not(run: Run, added: Mapping[str, Any], refused: ChangeRefusal) -> str:
    names, rule = ", ".join(added), run.own_pipeline().source.control
    if refused == "malformed":
        return f"run {run.run} cannot have {names} beside its own queries"
    if rule.believe != "all":
        return (
            f"run {run.run} believes no changes of the queries (source.control: {rule.believe}), "
            "so that whoever may write to the topic cannot make any: write control: all under "
            f"source in the file, and submit it; the run goes on with it, and then with {names}"
        )
    return (
        f"run {run.run} does not take {names} from its log: that adds at most {rule.queries} "
        f"queries (source.control.queries), with windows of at most {WINDOWS_MAX:,} for a record, "
        "with classes that the file names already, over fields of the same types, and without "
        "limits of entries of their own; write others into the file, and submit it"
    )


def await_change(change: LoggedChange, patience_s: float) -> None:
    """Wait until a run has read a change, in every lane.

    Raises:
        NoChange: a lane refused it, the job has failed, or time is up.
    """
    until = time.monotonic() + patience_s
    while time.monotonic() < until:
        run = read_run(change.run.folder)
        taken = run.own_pipeline().log_places
        if all(copy in taken for copy in change.copies.items()):
            return
        if (reason := failure(run)) is not None:
            msg = f"the job of run {run.run} has failed: {reason}"
            raise NoChange(msg)
        if refused := _refused(change, taken):
            msg = (
                f"{', '.join(refused)} did not take the change: what it had read by then is not "
                "all before `from`, its progress had passed the instant, or there can be no such "
                f"query; `slackwater dead` says which, for run {run.run}: write the change again, "
                "with a later instant"
            )
            raise NoChange(msg)
        time.sleep(_LOOK_S)
    msg = (
        f"run {change.run.run} has not read the change within {patience_s:.0f} s: it is in the log "
        "and will be taken or refused there; `slackwater queries list` shows it"
    )
    raise NoChange(msg)


def _refused(change: LoggedChange, taken: frozenset[tuple[str, int]]) -> list[str]:
    """Return the lanes whose copies were read and not taken."""
    checkpoint = read_checkpoint(change.run.checkpoint)
    ends = checkpoint.ends.get(checkpoint.committed, {})
    return [
        lane
        for lane, offset in change.copies.items()
        if ends.get(lane, 0) > offset and (lane, offset) not in taken
    ]
