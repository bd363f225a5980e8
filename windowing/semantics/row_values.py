"""What a row shows of its records: the place of each, and aggregates."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from windowing.model.fields import Aggregate, Kind
from windowing.model.file.pipeline import Query, Source
from windowing.model.rows import Key, Row, Value
from windowing.semantics.aggregates import IntSumError, aggregate, by_user, extreme
from windowing.semantics.revisions import key_of
from windowing.semantics.units import WindowRevision


def row_of(query: Query, source: Source, shown: WindowRevision) -> Row:
    """Return the row that shows a revision.

    Raises:
        IntSumError: as of `evaluate`.
    """
    key = key_of(query, shown)
    return Row(
        query=query.name,
        window_id=shown.wid,
        window_start_us=shown.start,
        window_end_us=shown.end,
        key=key,
        pane="full" if shown.revision == 0 else "late",
        revision=shown.revision,
        records=len(shown.holds),
        retracts=shown.retracts,
        absorbed_by=shown.absorbed_by,
        offsets=offsets_of(shown),
        values=values_of(query.name, query.aggregates, source, shown, key),
    )


def offsets_of(shown: WindowRevision) -> dict[str, tuple[int, int]]:
    """Return the first and last offset of a row's records, by lane."""
    offsets: dict[str, list[int]] = defaultdict(list)
    for item in shown.holds:
        offsets[item.lane].append(item.offset)
    return {lane: (min(held), max(held)) for lane, held in offsets.items()}


def values_of(
    query: str, aggregates: Sequence[Aggregate], source: Source, shown: WindowRevision, key: Key
) -> dict[str, Value]:
    """Return the aggregates of a row, by name."""
    kinds = {name: type_.kind for name, type_ in source.fields.items()}
    try:
        return {spec.name: value_of(spec, kinds, shown) for spec in aggregates}
    except IntSumError as error:
        extent = f"[{shown.start}, {shown.end})"
        msg = f"query {query}, window {shown.wid} {extent}, key {list(key)}: {error}"
        raise IntSumError(msg) from None


def value_of(spec: Aggregate, kinds: Mapping[str, Kind], shown: WindowRevision) -> Value:
    """Return one aggregate over a revision's records; null for a tombstone."""
    if shown.absorbed_by is not None:
        return None
    if spec.field is None:
        return len(shown.holds)
    if spec.function == "python":
        rows = [[item.fields[name] for name in spec.fields] for item in shown.holds]
        return by_user(spec, rows)
    values = [item.fields[spec.field] for item in shown.holds]
    if spec.function in ("argmin", "argmax"):
        # Without a field to show, show the windowing attribute.
        shows = [item.fields[spec.more[0]] if spec.more else item.value for item in shown.holds]
        return extreme(spec, list(zip(values, shows, strict=True)))
    return aggregate(spec, kinds[spec.field], values)
