"""Which queries one version of a pipeline file has in addition to another."""

from __future__ import annotations

from windowing.model.file.pipeline import Pipeline
from windowing.model.fingerprint import fingerprint


def added_queries(before: Pipeline, after: Pipeline, shards: int | None = None) -> tuple[str, ...]:
    """Return the names of the queries that one pipeline has in addition to another.

    Args:
        before: the pipeline of a run.
        after: another one.
        shards: the number of the other's shards to assume; None: its own.

    Returns:
        In the order of the file; nothing if there are none, or if anything else differs.
    """
    if before.join_query is not None or after.join_query is not None:
        return ()
    known = {flow.name for flow in before.flows}
    own = [flow for flow in after.flows if flow.name in known]
    if len(own) == len(after.flows):
        return ()
    same = fingerprint(after.source, shards or after.shards, own) == before.fingerprint
    return tuple(flow.name for flow in after.flows if flow.name not in known) if same else ()
