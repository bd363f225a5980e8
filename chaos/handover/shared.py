"""Where two versions of a pipeline must agree: in the aggregates of queries of one meaning."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from chaos.readers.output import Identity, Output
from chaos.verdict.contrast import Contrast, contrast
from windowing.model.fields import Aggregate
from windowing.model.file.pipeline import Pipeline, Query
from windowing.model.fingerprint import facts_of

Line = tuple[Identity, str]
Window = tuple[str, ...]
"""The start of a row's identity: query, window id, key."""


@dataclass(frozen=True)
class SharedParts:
    """What two versions have in common.

    Attributes:
        aggregates: by query of one meaning, the aggregates that both have.
        bad_values: records that are dead letters for all queries are so in both.
        apart: what is not compared, and why, a sentence each.
    """

    aggregates: Mapping[str, frozenset[str]]
    bad_values: bool
    apart: tuple[str, ...]


def shared(blue: Pipeline, green: Pipeline, *, same_code: bool = True) -> SharedParts:
    """Find out where two versions of a pipeline must agree.

    Args:
        blue: the one that runs.
        green: the one that is to take over.
        same_code: the classes of the user's aggregates have the code that blue was begun with.
    """
    if _read(blue) != _read(green):
        why = "nothing is compared: the source is read otherwise, so all of it may differ"
        return SharedParts({}, bad_values=False, apart=(why,))
    ours, theirs = ({q.name: q for q in p.queries} for p in (blue, green))
    apart = [
        f"query {name} is not compared: only one of the runs has it"
        for name in sorted(ours.keys() ^ theirs.keys())
    ]
    common: dict[str, frozenset[str]] = {}
    for name in [name for name in ours if name in theirs]:
        one, other = ours[name], theirs[name]
        if _frame(one) != _frame(other):
            apart.append(f"query {name} is not compared: its windows or its key are others")
            continue
        both = [a.name for a in one.aggregates if a in other.aggregates]
        if not same_code:
            both = [a.name for a in one.aggregates if a.name in both and a.user is None]
        common[name] = frozenset(both)
        rest = {a.name: None for a in (*one.aggregates, *other.aggregates) if a.name not in both}
        if rest:
            apart.append(f"of query {name} not compared: {', '.join(rest)}")
    lanes = range(blue.source.partitions)
    bad_values = all(blue.key_fields(n) == green.key_fields(n) for n in lanes)
    return SharedParts(common, bad_values, tuple(apart))


def _read(pipeline: Pipeline) -> object:
    """How a pipeline reads its log, and of a join what it pairs."""
    facts = facts_of(pipeline.source, 0, pipeline.queries)
    join = facts.get("join")
    return (
        {n: f for n, f in join.items() if n != "select"} if isinstance(join, dict) else facts["log"]
    )


def _frame(query: Query) -> Query:
    """A query but for what it makes of its windows."""
    return query.model_copy(update={"aggregates": tuple[Aggregate, ...]()})


def agree(
    of: SharedParts,
    some: Output,
    more: Output,
    *,
    names: tuple[str, str],
    windows: Collection[Window] | None = None,
) -> Contrast:
    """Lay what one run has written beside the same of another, which has come at least as far.

    Results only follow each other: what a run has written of a log is also in what it will have
    written of more of it. So of `more`, what `some` lacks is no difference.

    Args:
        of: where the two must agree.
        some: rows of the one.
        more: rows of the other.
        names: what the two are called.
        windows: those that are compared; None: all.
    """
    ours = list(_projected(of, some.rows, windows))
    known = {identity for identity, _ in ours}
    theirs = [line for line in _projected(of, more.rows, windows) if line[0] in known]
    return contrast(ours, theirs, names=names)


def letters_lacking(of: SharedParts, some: Output, more: Output) -> list[str]:
    """The dead letters of `some` that `more` lacks, or has for another reason, as lines."""
    concerned = {json.dumps(name) for name in of.aggregates}
    if of.bad_values and of.aggregates:
        concerned.add(json.dumps(None))
    theirs = set(more.dead)
    return [line[1] for line in some.dead if line[0][-1] in concerned and line not in theirs]


def _projected(
    of: SharedParts, rows: Iterable[Line], windows: Collection[Window] | None
) -> Iterable[Line]:
    """Rows of the queries that both have, with the values that both have."""
    kept = {json.dumps(name): values for name, values in of.aggregates.items()}
    for identity, line in rows:
        if identity[0] not in kept or (windows is not None and identity[:3] not in windows):
            continue
        row, names = json.loads(line), kept[identity[0]]
        if row["values"] is not None:
            row["values"] = {n: v for n, v in sorted(row["values"].items()) if n in names}
        yield identity, json.dumps(row, ensure_ascii=False, separators=(",", ":"))
