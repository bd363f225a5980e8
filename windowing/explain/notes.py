"""What has to be said of a result that has fewer rows than a person expects: a line for each cause.

One place decides it, for all commands that write or read results. Nothing here changes a result or
an exit code.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from windowing.explain.ways_out import of_times, way_out
from windowing.model import Pipeline
from windowing.model.fates import DEAD, DROPPED, FILTERED, OUTSIDE, Counts
from windowing.model.lengths import spell_instant, spell_us
from windowing.model.limits import is_plausible, written_in
from windowing.model.query import Flow, JoinQuery
from windowing.model.source import Source
from windowing.model.standing import LaneEnd, Waiting, is_timed, released_by

SHARE: Final = 0.1
"""From which share of the records on their loss is a cause."""

LATE: Final = frozenset({"late", "out_of_retention"})
"""The reasons of dead letters that are good records, but late."""

_LANES_SHOWN: Final = 3


@dataclass(frozen=True)
class DeadGroup:
    """Dead letters of one reason.

    Attributes:
        letters: how many there are.
        query: whose they are; None: no query could use the records.
        field, value, rule: of one of them; None: unknown.
    """

    reason: str
    letters: int
    field: str | None = None
    value: str | None = None
    rule: str | None = None
    query: str | None = None


@dataclass
class TimesSeen:
    """Event times of records that were looked at.

    Attributes:
        looked_at: how many.
        odd: how many of them are implausible.
        least_us, greatest_us: the extremes of those.
        first_us, last_us: the extremes of all.
        undated: records that were looked at without an append time.
    """

    looked_at: int = 0
    odd: int = 0
    least_us: int = 0
    greatest_us: int = 0
    first_us: int | None = None
    last_us: int | None = None
    undated: int = 0


@dataclass(frozen=True)
class Findings:
    """What is known of a result; what is not known is not judged.

    Attributes:
        counts: by query.
        rows: the number of rows by query; None: unknown.
        waiting: by query; a missing one is unknown.
        lanes: how far each is, by its number; None: unknown.
        dead: the dead letters that no query could use, and those that a query's class refuses.
        times: by the number of the source's part.
        ends_all: a way to end all lanes, where there is one.
        overflows: by query and aggregate, in how many rows it has no value that they could show.
        held_back: by query with `having`, how many rows were not sent; a missing one is unknown.
    """

    pipeline: Pipeline
    counts: Mapping[str, Counts] = field(default_factory=dict)
    rows: Mapping[str, int] | None = None
    waiting: Mapping[str, Waiting] = field(default_factory=dict)
    lanes: Mapping[int, LaneEnd] | None = None
    dead: Sequence[DeadGroup] = ()
    times: Mapping[int, TimesSeen] = field(default_factory=dict)
    ends_all: str | None = None
    overflows: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    held_back: Mapping[str, int] = field(default_factory=dict)


def notes(found: Findings) -> list[str]:
    """Return the causes, the ones first that explain others."""
    read = max((counts.read for counts in found.counts.values()), default=0)
    lines = [*_of_times(found), *_of_dead(found, read)]
    if found.lanes is not None and not any(seen.odd for seen in found.times.values()):
        lines += odd_progress(found.pipeline, found.lanes)
    return lines + _of_queries(found, read)


def of_missing_rows(found: Findings) -> list[str]:
    """Return why queries have fewer rows than somebody expects: those in the counts.

    Whether times are plausible is not said: who makes up a log chooses small ones.
    """
    read = max((counts.read for counts in found.counts.values()), default=0)
    return [*_of_dead(found, read), *_of_queries(found, read)]


def _of_queries(found: Findings, read: int) -> list[str]:
    lines = []
    if found.counts and not read:
        lines.append("no record was read: the log is empty, or has control records only")
    for flow in found.pipeline.flows:
        if (counts := found.counts.get(flow.name)) is not None:
            lines += _of_query(found, flow, counts)
    return lines


def of_file(pipeline: Pipeline) -> list[str]:
    """Return what a pipeline's file alone says about results that may surprise."""
    lines = []
    for flow in pipeline.flows:
        if (gap := _gap(pipeline.source, flow)) is not None:
            lines.append(
                f"query {flow.name}: SLIDE is longer than RANGE, so that records in the {gap} "
                "before each window are in no window (counted as outside): make RANGE as long, if "
                "that is not meant"
            )
    return lines


def limit_rests(topics: Sequence[str]) -> str:
    """Return what to say if `max_ahead` cannot be judged by the times of topics."""
    one = f"topic {topics[0]} has" if len(topics) == 1 else f"topics {', '.join(topics)} have"
    return (
        f"source.event_time.max_ahead is not judged: {one} message.timestamp.type CreateTime, by "
        "which nobody knows when the broker appended a record: set it to LogAppendTime, or limit "
        "times by max"
    )


def nothing_sent(topic: str, records: int, appended: int) -> list[str]:
    """Return what to say of records that were sent to a topic, if none was appended."""
    if not records:
        return [f"the file has no record for topic {topic}"]
    return [] if appended else [f"topic {topic} holds all records of the file already"]


def redelivered(records: int) -> list[str]:
    """Return what to say of redeliveries in a file, which are not read again."""
    if not records:
        return []
    what = "record is a redelivery" if records == 1 else "records are redeliveries"
    return [f"{records:,} {what}: the same offset and bytes as before, of no effect, not counted"]


def nothing_added(bounds: int) -> list[str]:
    """Return what to say of a log into which no bound was put."""
    if bounds:
        return []
    return [
        "no bound was added: the log has no valid record, or source.event_time.max_ahead allows no "
        "bound that is due"
    ]


def nothing_recorded(records: int, *, is_empty_range: bool) -> list[str]:
    """Return what to say of a recording without a record."""
    if records:
        return []
    if is_empty_range:
        return ["nothing is in the range: it begins at its end, or the topic is empty"]
    return [
        "nothing is in the range: the topic has dropped its records (retention.ms), or a "
        "transaction that has them was aborted"
    ]


def _gap(source: Source, flow: Flow) -> str | None:
    """Return how long the gaps between windows are; None: there are none."""
    window = flow.window
    if window is None or not window.traits.on_grid or window.range_ is None:
        return None
    gap = window.slide - window.range_
    if gap <= 0:
        return None
    return spell_us(gap) if flow.attribute == source.event_time.field else f"{gap:,}"


def odd_progress(pipeline: Pipeline, lanes: Mapping[int, LaneEnd]) -> list[str]:
    """Return which lanes are at an implausible time, and what to do."""
    odd = {
        number: lane.progress_us
        for number, lane in lanes.items()
        if lane.progress_us is not None and not lane.ended and not is_plausible(lane.progress_us)
    }
    lines = []
    for number, us in odd.items():
        part, _ = pipeline.source.place(number)
        spelling = part.event_time.spelling
        unit = spelling.name
        written = None if spelling.is_text else (written_in(unit, us),) * 2
        lines.append(
            f"{pipeline.source.lane(number)} is at {spell_instant(us)}, which is implausible, "
            f"outside of 1975 to 2100: {of_times(unit, us, us, written)}"
        )
    return lines


def _of_times(found: Findings) -> Iterator[str]:
    for number, seen in found.times.items():
        source = found.pipeline.source.parts[number]
        spelling, limit = source.event_time.spelling, source.event_time.max_ahead_us
        unit = spelling.name
        if seen.odd:
            extremes = (seen.least_us, seen.greatest_us)
            written = None if spelling.is_text else _pair(written_in(unit, us) for us in extremes)
            where = " to ".join(dict.fromkeys(map(spell_instant, extremes)))
            yield (
                f"{source.event_time.field} of {seen.odd:,} of {seen.looked_at:,} records looked "
                f"at is implausible, outside of 1975 to 2100: {where} by unit: {unit}; "
                f"{of_times(unit, *extremes, written)}"
            )
        if limit is not None and seen.undated:
            yield (
                f"source.event_time.max_ahead was not judged for {seen.undated:,} of "
                f"{seen.looked_at:,} records looked at, which have no append_us: one record of the "
                "future makes all others late; give each line its append_us, or limit times by max"
            )


def _pair(numbers: Iterator[int]) -> tuple[int, int]:
    first, second = numbers
    return first, second


def _of_dead(found: Findings, read: int) -> Iterator[str]:
    bad = [group for group in found.dead if group.query is None]
    if line := _of_letters(bad, read, found.pipeline.source.parts[0]):
        yield line


def _of_letters(dead: Sequence[DeadGroup], read: int, source: Source) -> str | None:
    """Return what to say of dead letters; None: they are too few."""
    letters = sum(group.letters for group in dead)
    if not letters or letters < SHARE * read:
        return None
    most = max(dead, key=lambda group: group.letters)
    about = " ".join(part for part in (most.field, most.value) if part is not None)
    rule = "" if most.rule is None else f" (right: {most.rule})"
    do = way_out(most.reason, most.field, most.value, source, rule=most.rule)
    return (
        f"{_share(letters, read)} {'is a dead letter' if letters == 1 else 'are dead letters'}, "
        f"{most.letters:,} by {most.reason}"
        f"{f': {about}' if about else ''}{rule}; {do}"
    )


def _of_query(found: Findings, flow: Flow, counts: Counts) -> Iterator[str]:
    bad = sum(group.letters for group in found.dead if group.query is None)
    refused = [group for group in found.dead if group.query == flow.name]
    own = counts[DEAD.name] - bad - sum(group.letters for group in refused)
    late = counts[DROPPED.name] + max(0, own)
    said = bad >= SHARE * counts.read or not counts.read
    if line := _of_letters(refused, counts.read, found.pipeline.source.parts[0]):
        said = True
        yield f"{flow.name}: {line}"
    if late and late >= SHARE * counts.read:
        said = True
        what = "dropped" if counts[DROPPED.name] else "dead letters"
        do = way_out(flow.late.letter or "late")
        yield f"{flow.name}: {_share(late, counts.read)} came too late ({what}); {do}"
    held_back = found.held_back.get(flow.name, 0)
    if held_back and held_back >= SHARE * (held_back + (found.rows or {}).get(flow.name, 0)):
        said = True
        what = "row is" if held_back == 1 else "rows are"
        yield f"{flow.name}: {held_back:,} {what} not sent: having does not hold, or is null"
    filtered = counts.get(FILTERED.name, 0)
    if filtered and filtered >= SHARE * counts.read:
        said = True
        lost = f"{_share(filtered, counts.read)} {_are(filtered)} filtered"
        yield f"{flow.name}: {lost}: source.where does not hold for them, or is null"
    outside = counts[OUTSIDE.name]
    if outside and outside >= SHARE * counts.read:
        said = True
        why = "they lie before its windows begin, after they end, or in gaps between them"
        if (gap := _gap(found.pipeline.source, flow)) is not None:
            why = f"SLIDE is longer than RANGE, which leaves gaps of {gap}"
        lost = f"{_share(outside, counts.read)} {_are(outside)} in no window"
        yield f"{flow.name}: {lost} (outside): {why}"
    waiting = found.waiting.get(flow.name)
    if waiting is not None and (waiting.windows != 0 or waiting.revisions):
        said = True
        yield _open(found, flow, waiting)
    for name, rows in found.overflows.get(flow.name, {}).items():
        where = f"null in {rows:,} row{'' if rows == 1 else 's'}"
        yield f"{flow.name}: {name} is {where}, {_cause(flow, name)}"
    if found.rows is not None and not found.rows.get(flow.name, 0) and not said:
        does = "explain` says when its windows close"
        if flow.extents_in is not None:
            does = "why` says which lanes hold a window back"
        none = "none is due" if flow.having is None else "none is due that fulfils having"
        yield f"{flow.name}: no row for {counts.read:,} records, and {none}: `slackwater {does}"


def _cause(flow: Flow, name: str) -> str:
    """Say why a value is null that its row names in `overflow`."""
    if isinstance(flow, JoinQuery):
        text = flow.expressions[name].text
        return f"for which {text} has no value (overflow): give it one by CASE, or by nullif"
    if name in flow.by_users:
        command = "trace" if flow.window is None else "why"
        return f"for which its class fails (overflow): `slackwater {command}` says how"
    return "whose exact value no type takes (overflow): group by a finer key, or sum a float"


def _open(found: Findings, flow: Flow, waiting: Waiting) -> str:
    """Return how many windows are open, what holds them back, and what would release them."""
    what = []
    if waiting.windows is None:
        what.append("windows are open")
    elif waiting.windows:
        many = waiting.windows != 1
        rows = "" if waiting.rows == waiting.windows else f" ({waiting.rows:,} rows)"
        what.append(f"{waiting.windows:,} window{'s are' if many else ' is'} open{rows}")
    if waiting.revisions:
        what.append(f"late records wait with {waiting.revisions:,} revisions")
    line = f"{flow.name}: {' and '.join(what)}"
    source, end = found.pipeline.source, waiting.first_end
    if not is_timed(source, flow):
        line += ": their rows are counted, or ordered by another field, and too few have come"
    elif end is not None and found.lanes is not None:
        line += f", the first until {spell_instant(end)}: {_held(found.lanes, source, flow, end)}"
    return line if found.ends_all is None else f"{line}; {found.ends_all}"


def _held(lanes: Mapping[int, LaneEnd], source: Source, flow: Flow, end_us: int) -> str:
    """Return which lanes hold back a window that ends then, and what releases it."""
    behind = []
    for number in range(source.partitions):
        if flow.waits_for_topic not in (None, source.place(number)[0].topic):
            continue
        lane = lanes.get(number, LaneEnd())
        if not lane.ended and (lane.progress_us is None or lane.progress_us < end_us):
            behind.append((lane.progress_us is not None, lane.progress_us or 0, number))
    if not behind:
        return "each key waits for progress that is its own"
    ordered = sorted(behind)
    shown = [
        f"{source.lane(number)} at {spell_instant(us) if known else 'its beginning'}"
        for known, us, number in ordered[:_LANES_SHOWN]
    ]
    more = len(ordered) - len(shown)
    names = ", ".join(shown) + (f" and {more:,} more" if more else "")
    many = len(ordered) > 1
    part, _ = source.place(ordered[0][2])
    each = f"each of these {len(ordered):,} lanes" if many else source.lane(ordered[0][2])
    return (
        f"{names} hold{'' if many else 's'} back; {released_by(part, end_us)} in {each} releases it"
    )


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def _share(part: int, whole: int) -> str:
    if part >= whole:
        return f"all {whole:,} records" if whole > 1 else "the only record"
    return f"{part:,} of {whole:,} records ({part / whole:.0%})"


def grouped(
    letters: Sequence[tuple[str, tuple[str | None, ...]]], query: str | None = None
) -> list[DeadGroup]:
    """Group dead letters by reason and field.

    Args:
        letters: of each the reason, and field, value and rule.
        query: whose they are.
    """
    numbers = Counter((reason, detail[0]) for reason, detail in letters)
    examples = {(reason, detail[0]): detail for reason, detail in reversed(letters)}
    groups = []
    for (reason, name), number in numbers.most_common():
        field_, value, rule = examples[reason, name]
        groups.append(DeadGroup(reason, number, field_, value, rule, query))
    return groups
