"""Cases of spellings of times, of retries, and of plain lines."""

from __future__ import annotations

import random
from decimal import Decimal

from tests.unit.reading.plain_python import HOUR, MINUTE, START, Case, Taken, some

_TIMES = """
name: {name}
source:
  topic: s
  partitions: 1
  format: json
  event_time: {{field: ts, {spelled}}}
  fields: {{}}
  disorder: {{slack: 4000 days}}
queries:
  q: {{window: RANGE 1 us SLIDE 1 us WATTR ts, aggregates: {{n: count}}}}
sink: {{table: times}}
"""
_NOON = START + 12 * HOUR


def times(name: str, need: str, spelled: str, found: dict[str, int | str]) -> Case:
    """One way of spelling times: texts of JSON, and the instant of each or why it is none."""
    case = Case(name, need, _TIMES.format(name=name, spelled=spelled), ["s/0"])
    taken = []
    for offset, (text, instant) in enumerate(found.items()):
        raw = f'{{"ts":{text}}}'
        case.lines.append({"source": "s", "partition": 0, "offset": offset, "raw": raw})
        if isinstance(instant, str):
            case.dead.append(("s", 0, offset, None, instant))
        elif instant >= 0:  # before the origin it is in no window
            taken.append(Taken(instant, "s", 0, offset, ()))
    case.sum_up("q", 1, taken, lambda records: {"n": len(records)})
    case.end()
    return case


def iso() -> Case:
    bad = "bad_event_time"
    return times(
        "times_iso",
        "Every service writes the same instant in another of ISO's ways.",
        "unit: iso",
        {
            '"2024-05-01T12:00:00Z"': _NOON,
            '"2024-05-01 12:00:00"': _NOON,
            '"2024-05-01t12:00:00z"': _NOON,
            '"2024-05-01T14:00:00+0200"': _NOON,
            '"2024-05-01T14:00:00+02"': _NOON,
            '"2024-05-01T07:30-04:30"': _NOON,
            '"2024-05-01T12:00"': _NOON,
            '"2024-05-01T12:00:00.1"': _NOON + 100_000,
            '"2024-05-01T12:00:00.123456789Z"': _NOON + 123_456,
            '"2024-05-01T12:00:00.999999999999+00"': _NOON + 999_999,
            '"1969-12-31T23:59:59.9999999Z"': -1,
            '"20240501T120000Z"': bad,
            '"2024-05-01T12:00:00,5Z"': bad,
            '"2024-05-01"': bad,
            '"2024-05-01T12:00:60Z"': bad,
            '"2024-05-01T24:00:00Z"': bad,
            '"2024-05-01T12:00:00Z "': bad,
            '"2024-05-01T12:00:00 CET"': bad,
            '"2024-05-01T12:00:00.1234567890123Z"': bad,
            "1714564800": bad,
            "null": "missing_event_time",
        },
    )


def ns() -> Case:
    return times(
        "times_ns",
        "Nanoseconds as integers: what is finer than a microsecond is cut off.",
        "unit: ns",
        {
            "1714564800000000000": _NOON,
            "1714564800000000999": _NOON,
            "1714564800000001000": _NOON + 1,
            "1714564800000000000.0": "bad_event_time",
            '"1714564800000000000"': "bad_event_time",
        },
    )


def fraction() -> Case:
    return times(
        "times_fraction",
        "Seconds with a fraction, as programs in Python write them, and exact.",
        "unit: s, fraction: true",
        {
            "1714564800.1234567": _NOON + 123_456,
            "1714564800": _NOON,
            "1.7145648e9": _NOON,
            "1714564800.000001": _NOON + 1,
            "1714564800.9999999999": _NOON + 999_999,
            "17145648000000009e-7": _NOON,
            '"1714564800.5"': "bad_event_time",
            "true": "bad_event_time",
        },
    )


def text() -> Case:
    # Berlin is two hours ahead of UTC in summer, and one in winter.
    return times(
        "times_text",
        "Local times of a factory, with the hours that the clock skips and shows twice.",
        'unit: {text: "%d.%m.%Y %H:%M:%S", zone: Europe/Berlin}',
        {
            '"01.05.2024 14:00:00"': _NOON,
            '"01.01.2024 01:00:00"': 1_704_067_200_000_000,
            '"31.03.2024 01:59:59"': 1_711_846_799_000_000,
            '"31.03.2024 02:30:00"': "bad_event_time",
            '"31.03.2024 03:00:00"': 1_711_846_800_000_000,
            '"27.10.2024 02:30:00"': 1_729_989_000_000_000,
            '"27.10.2024 03:00:00"': 1_729_994_400_000_000,
            '"2024-05-01 14:00:00"': "bad_event_time",
            '"32.05.2024 14:00:00"': "bad_event_time",
            "1714564800": "bad_event_time",
        },
    )


_RETRIES = """
name: retries
source:
  topic: s
  partitions: 2
  format: json
  event_time: {field: ts, unit: us}
  fields: {id: "string?", ok: bool}
  where: ok
  duplicates: {by: [id], within: 10 minutes}
  disorder: {slack: 5 minutes}
late: {policy: drop}
queries:
  q: {window: RANGE 1 day SLIDE 1 day WATTR ts, aggregates: {n: count, ids: count_distinct(id)}}
sink: {table: retries}
"""


def retries() -> Case:
    """Duplicates: within a time, per lane, and only of what was kept."""
    within, slack = 10 * MINUTE, 5 * MINUTE
    case = Case(
        "retries",
        "A producer sends again what it believes lost; each payment counts once.",
        _RETRIES,
        ["s/0", "s/1"],
    )
    rng, taken = random.Random(3), list[Taken]()
    kept: dict[int, list[tuple[str, int]]] = {0: [], 1: []}
    progress, offsets, clock = [-(1 << 63)] * 2, [0, 0], START + HOUR
    steps = (0, 1, MINUTE, within // 2, within - 1, within, within + 1, 2 * within)
    for _ in range(300):
        partition = rng.randrange(2)
        offset, offsets[partition] = offsets[partition], offsets[partition] + 1
        clock += rng.choice([0, MINUTE // 3])
        ts = clock - rng.choice(steps)
        name, ok = rng.choice(["a", "b", "c", None]), rng.random() < 0.8
        value = {"ts": ts, "id": name, "ok": ok}
        case.lines.append({"source": "s", "partition": partition, "offset": offset, "value": value})
        before = progress[partition]
        progress[partition] = max(before, ts - slack)
        if not ok:
            continue
        near = [t for own, t in kept[partition] if own == name and abs(ts - t) < within]
        if name is not None and near and ts > before - within:
            continue
        kept[partition].append((name or "", ts))
        taken.append(Taken(ts, "s", partition, offset, (), {"id": name}))
    case.sum_up(
        "q",
        24 * HOUR,
        taken,
        lambda found: {
            "n": len(found),
            "ids": len(set(some([one.fields["id"] for one in found]))),
        },
    )
    case.end()
    return case


_PLAIN = """
name: plain
source:
  topic: clicks
  partitions: 1
  format: json
  event_time: {field: at, unit: iso}
  fields: {page: string}
  disorder: {slack: 1 day}
queries:
  q: {window: RANGE 1 hour SLIDE 1 hour WATTR at, group_by: [page], aggregates: {n: count}}
sink: {table: clicks}
"""


def plain() -> Case:
    """Plain lines, without places: a lane of their own, and an end."""
    case = Case(
        "plain_lines",
        "A file of values, one a line, as programs log them.",
        _PLAIN,
        ["clicks/0"],
        arguments="--as clicks --end\n",
    )
    values = [("12:00:00", "home"), ("12:10:00", "cart"), ("12:59:59.5", "home"), ("13:00", "home")]
    taken = []
    for offset, (clock, page) in enumerate(values):
        case.lines.append({"at": f"2024-05-01T{clock}Z", "page": page})
        hours, minutes, *seconds = clock.split(":")
        us = int(Decimal(seconds[0]) * 1_000_000) if seconds else 0
        ts = START + int(hours) * HOUR + int(minutes) * MINUTE + us
        taken.append(Taken(ts, "clicks", 0, offset, (page,)))
    case.lines.append('{"at": "2024-05-01T13:00:01Z", "page": 7}')
    case.dead.append(("clicks", 0, 4, None, "bad_type"))
    case.sum_up("q", HOUR, taken, lambda found: {"n": len(found)})
    return case
