"""The effect of a changed pipeline file on a run that was started with another version of it.

A pure comparison of two files. The fingerprint decides whether a run may continue, since it covers
everything that affects the result: a checkpoint fits only one meaning. Other changes (where rows
go, what is checked, when increments run) let the run continue, and are explained. So do added
queries whose windows begin later than what the run has read, and queries that are to end behind it;
then the checkpoint is converted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from jobs.runs.difference import differences, other_code
from jobs.runs.placement import is_version_of, with_place
from windowing.engine.added import why_not
from windowing.engine.plan import plan_of
from windowing.model import Pipeline
from windowing.model.control import ControlRule
from windowing.model.file.versions import QueryChange, query_change


class Kind(StrEnum):
    """The kind of a change."""

    same = "same"
    compatible = "compatible"
    other_queries = "other_queries"
    new_run = "new_run"


@dataclass(frozen=True)
class Change:
    """The effect of a file on a run.

    Attributes:
        kind: whether the run can continue with it.
        sentences: each difference by its path in the file, including mere spellings.
        effects: for a compatible change, how the run continues.
        queries: for a file with other queries, which the run does not have yet, or which end now.
    """

    kind: Kind
    sentences: tuple[str, ...] = ()
    effects: tuple[str, ...] = ()
    queries: QueryChange = field(default_factory=QueryChange)

    @property
    def goes_on(self) -> bool:
        """Whether the run's checkpoint also fits the new file, possibly after a conversion."""
        return self.kind is not Kind.new_run


def compare(old: Pipeline, new: Pipeline, begun_with: str | None = None) -> Change:
    """Compare a run's own copy of its file with the file as it is now.

    Args:
        old: the run's copy.
        new: the user's file, with the lanes that have joined the run.
        begun_with: the fingerprint that the run was started with; None: not recorded. It includes
            the code of a user's aggregate, of which no copy is kept.

    Raises:
        ValueError: they are different pipelines.
    """
    if old.name != new.name:
        msg = f"{old.name!r} and {new.name!r} are two pipelines, and not two versions of one"
        raise ValueError(msg)
    placed = with_place(new, old.output, like=old) if is_version_of(old, new) else new
    sentences = tuple(differences(old.text, placed.text))
    queries = query_change(old, new) or QueryChange()
    if old.fingerprint != new.fingerprint and queries == QueryChange():
        return Change(Kind.new_run, sentences)
    if begun_with is not None and not old.wrote(begun_with):
        return Change(Kind.new_run, (*sentences, *other_code(new)))
    if reasons := (*_refusals(old, new, queries.added), *_control_refusals(old, new)):
        return Change(Kind.new_run, (*sentences, *reasons))
    changes = tuple(_beginnings_and_ends(queries))
    effects = (*changes, *_effects(old, new))
    kind = Kind.other_queries if changes else Kind.compatible if effects else Kind.same
    return Change(kind, sentences, effects, queries)


def _refusals(old: Pipeline, new: Pipeline, added: Iterable[str]) -> Iterator[str]:
    """Say of added queries why no run can continue with them."""
    before, after = plan_of(old), plan_of(new)
    for query in added:
        if (why := why_not(before, after, query)) is not None:
            yield f"queries.{query}: it cannot be added to a run: {why}"


def _control_refusals(old: Pipeline, new: Pipeline) -> Iterator[str]:
    """Say why no run can continue with another rule for control records."""
    before, after = old.source.control, new.source.control
    if after.believes_as_much(before):
        return
    if not _drops_changes(before, after) or old.log_places:
        yield (
            "source.control: it would not believe records that the run has believed, or may have: "
            "what they did is in its results"
        )


def _drops_changes(before: ControlRule, after: ControlRule) -> bool:
    """Return whether a rule differs from another one only in that it believes no changes."""
    return (before.believe, after.believe, after.key) == ("all", "bounds", before.key)


def _beginnings_and_ends(queries: QueryChange) -> Iterator[str]:
    if queries.control:
        yield (
            "source.control: from now on, other control records are believed; the run goes on, "
            "since it has refused none that would be believed"
        )
    for query in queries.added:
        yield (
            f"queries.{query}: added from its ORIGIN on; records before it are outside of its "
            "windows, and the other queries go on as if nothing had been added"
        )
    for query in queries.ended:
        yield f"queries.{query}: its last window ends by its until; its table stays"


def _effects(old: Pipeline, new: Pipeline) -> Iterator[str]:
    if not is_version_of(old, new):
        yield (
            f"sink: the rows of this run stay in {_place(old)}, where the others of its batches "
            f"are; a new run writes to {_place(new)}"
        )
    if old.quality != new.quality:
        yield "quality: the next `slackwater quality` checks what the file says now"
    if old.schedule != new.schedule:
        yield f"schedule: Airflow goes by {new.schedule!r} as soon as it has read the file"
    if old.upkeep != new.upkeep:
        yield "upkeep: Airflow goes by its schedule as soon as it has read the file"
    if [part.compacted for part in old.source.parts] != [p.compacted for p in new.source.parts]:
        yield "compacted: looked at when the job is started the next time"


def _place(pipeline: Pipeline) -> str:
    return f"{pipeline.destination.rules.place} {pipeline.output}"
