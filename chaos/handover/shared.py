"""Where two versions of a pipeline must agree: in the aggregates of queries of one meaning."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from chaos.readers.output import Line, Output
from chaos.replay.production import Window
from chaos.verdict.contrast import Contrast, contrast
from windowing.model.file.pipeline import Pipeline, Query
from windowing.model.fingerprint import facts_of
from windowing.model.operators.query import OperatorQuery
from windowing.model.query import JoinQuery

_Flow = Query | OperatorQuery | JoinQuery


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
