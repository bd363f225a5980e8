"""How one version of a pipeline file changes the queries of another."""

from __future__ import annotations

from dataclasses import dataclass

from windowing.model.file.pipeline import Pipeline
from windowing.model.fingerprint import fingerprint
from windowing.model.query import Flow, Query
from windowing.model.windows.activity import Activity, Places
from windowing.model.windows.sliding import is_sliding, with_active


@dataclass(frozen=True)
class QueryChange:
    """What one pipeline has that another has not; in all else, the two are the same.

    Attributes:
        added: names of its queries in addition, in the order of the file.
        ended: names of those that only now have an `until`, or have an earlier one.
        dropped: names that turn out to be of different queries in different lanes.
        control: whether it believes other control records, or forgets other names.
    """

    added: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    control: bool = False


def query_change(
    before: Pipeline, after: Pipeline, shards: int | None = None
) -> QueryChange | None:
    """Return how the queries of a pipeline change.

    Args:
        before: the pipeline of a run.
        after: another one.
        shards: the number of the other's shards to assume; None: its own.

    Returns:
        None: they do not change in such a way, or anything else differs.
    """
    if not (before.query_files and after.query_files):
        return None
    dropped = [flow.name for flow in before.flows if flow.name in after.conflicts]
    known = {flow.name: flow for flow in before.flows if flow.name not in dropped}
    own = [flow for flow in after.flows if flow.name in known]
    as_before = [_as_before(known[flow.name], flow) for flow in own]
    control = before.source.control
    source = after.source.model_copy(update={"control": control})
    found = fingerprint(source, shards or after.shards, as_before)
    if found != fingerprint(before.source, before.shards, [*known.values()]):
        return None
    if not _has_conflicts(before, after):
        return None
    pairs = [(_activity(known[flow.name]), _activity(flow), flow.name) for flow in own]
    if not all(_goes_on(old, new) for old, new, _ in pairs):
        return None
    return QueryChange(
        tuple(flow.name for flow in after.flows if flow.name not in known),
        tuple(name for old, new, name in pairs if old.until_us != new.until_us),
        tuple(dropped),
        after.source.control != control or after.forgotten != before.forgotten,
    )


def added_queries(before: Pipeline, after: Pipeline, shards: int | None = None) -> tuple[str, ...]:
    """Return the names of the queries that one pipeline has in addition to another.

    Args: as for `query_change`.

    Returns:
        In the order of the file; nothing if there are none, or if anything else differs.
    """
    change = query_change(before, after, shards)
    return () if change is None else change.added


def _as_before(old: Flow, new: Flow) -> Flow:
    """Return a query with the activity that it had."""
    if not (isinstance(old, Query) and isinstance(new, Query)):
        return new
    if old.window.active == new.window.active or not is_sliding(new.window):
        return new
    return new.model_copy(update={"window": with_active(new.window, old.window.active)})


def _activity(flow: Flow) -> Activity:
    return (flow.window and flow.window.active) or Activity()


def _goes_on(old: Activity, new: Activity) -> bool:
    """Whether an activity is what another can become: more lanes know it, or it ends."""
    if (old.begins_us, old.warmup) != (new.begins_us, new.warmup):
        return False
    if (old.joined is None) != (new.joined is None):
        return False
    if not _has(new.joined, old.joined) or not _has(new.left, old.left):
        return False
    if old.until_us is None:
        return True
    if (old.left is None) != (new.left is None):
        return False
    # Each lane goes by what it has said; the query, by the earliest of it.
    return new.until_us == old.until_us or (old.left is not None and _ends_before(new, old))


def _ends_before(new: Activity, old: Activity) -> bool:
    lanes = [lane for lane, _ in old.left or ()]
    earlier = new.until_us is not None and new.until_us < (old.until_us or 0)
    return earlier and all(new.until_in(lane) == old.until_in(lane) for lane in lanes)


def _has_conflicts(before: Pipeline, after: Pipeline) -> bool:
    """Whether a pipeline has the conflicts of another, with at least the same copies."""
    return all(
        {lane: own.at for lane, own in conflict.items()}.items()
        <= {lane: own.at for lane, own in after.conflicts.get(name, {}).items()}.items()
        for name, conflict in before.conflicts.items()
    )


def _has(more: Places | None, less: Places | None) -> bool:
    return {*(less or ())} <= {*(more or ())}
