"""Runs that are to believe changes of their queries, or not to believe some.

Both are part of a pipeline's meaning, and so of the run's own copy of its file; the state is
converted for it. Neither makes anything undone that the log has done.
"""

from __future__ import annotations

from collections.abc import Collection

from infra.endpoints import Endpoints
from jobs import runs
from jobs.checkpoints.checkpoint import committed_offsets
from jobs.checkpoints.conversion import ConversionError, change_file
from jobs.runs.folder import read_run
from windowing.model import Pipeline, Query, parse_pipeline
from windowing.model.file.changes import forgetting
from windowing.model.file.yaml_lines import spell


def believing_changes(pipeline: Pipeline) -> Pipeline:
    """Return a pipeline that believes changes of its queries, too; all else of the rule stays."""
    source = dict(pipeline.document["source"])
    rule = source.get("control", {})
    kept = {} if isinstance(rule, str) else rule
    source["control"] = {**kept, "believe": "all"} if kept else "all"
    return parse_pipeline(spell({**pipeline.document, "source": source}))


def believe_changes(endpoints: Endpoints, run: runs.Run) -> runs.Run:
    """Let a run believe changes of its queries; a job that lives is stopped for it, and continues.

    Raises:
        ConversionError: the run has no batch yet, or its tables are ahead of its checkpoint.
        CheckpointMismatch: it has refused control records by the rule that it has.
    """
    alive = run.run in runs.living(endpoints, run.pipeline)
    if alive:
        runs.stop_run(endpoints, run)
    try:
        change_file(run, believing_changes(run.own_pipeline()))
    finally:
        if alive:
            run = runs.start(endpoints, read_run(run.folder))
    return run


def forget_queries(run: runs.Run, names: Collection[str]) -> None:
    """Let a stopped run never take changes of some names, so that it can continue past them.

    Args:
        names: of queries that its log adds or removes, behind what the run has committed.

    Raises:
        ConversionError: a job of it lives, or it has taken a change of such a name.
    """
    own = run.own_pipeline()
    active = {flow.name: flow.window.active for flow in own.of(Query)}
    taken = {name for name, of in active.items() if of and (of.joined or of.left)}
    if known := sorted({*names} & (taken | {*own.conflicts})):
        _, ends = committed_offsets(run.checkpoint, own.source)
        msg = (
            f"run {run.run} has taken what its log says of {', '.join(known)}, and has committed "
            f"up to {_spelled(own, ends)}: what is in its results cannot be forgotten; "
            "`slackwater queries remove` ends a query"
        )
        raise ConversionError(msg)
    change_file(run, forgetting(own, names))


def _spelled(pipeline: Pipeline, ends: dict[int, int]) -> str:
    return ", ".join(f"{pipeline.source.lane(lane)} {end}" for lane, end in sorted(ends.items()))
