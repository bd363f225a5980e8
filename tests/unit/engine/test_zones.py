"""Tables of zones: the clock of Python's zones, at and around every change."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from windowing.engine.zones import first_difference, transitions
from windowing.model.zones import Zone, installed_zone

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
US = timedelta(microseconds=1)
SECOND = 1_000_000
BEGIN, END = -62_100_000_000 * SECOND, 253_300_000_000 * SECOND
# With a negative summer time, a half-hour one, rules of a calendar of the moon, a day left out,
# a zone that had another offset for four days, and one without changes.
ZONES = [
    *("Europe/Berlin", "Europe/Dublin", "Australia/Lord_Howe", "Africa/Casablanca"),
    *("Pacific/Apia", "Africa/Freetown", "Asia/Hebron", "UTC"),
]


@pytest.mark.parametrize("name", ZONES)
def test_offsets_at_every_change(name: str) -> None:
    zone, python = transitions(installed_zone(name)), installed_zone(name).info
    every = zone.starts[zone.starts < END]
    every = np.concatenate([every[:400], every[-4:]])
    around = [every - 1, every, every + 3600 * SECOND, np.arange(BEGIN, END, (END - BEGIN) // 700)]
    instants = np.concatenate(around)
    wanted = [(EPOCH + int(us) * US).astimezone(python).utcoffset() for us in instants]
    assert zone.offset_at(instants).tolist() == [(offset or US * 0) // US for offset in wanted]


@pytest.mark.parametrize("name", ZONES)
def test_local_times_are_the_first_that_clocks_show(name: str) -> None:
    """Or, if none shows it, the instant at which they pass it over."""
    zone = transitions(installed_zone(name))
    changes = zone.starts[:200]
    local = np.concatenate(
        [
            changes + offset + by * 600 * SECOND
            for offset in (zone.offset_at(changes - 1), zone.offset_at(changes))
            for by in range(-7, 8)
        ]
    )
    found = zone.instant_of(local)
    shown = found + zone.offset_at(found)
    # Just before, clocks showed an earlier time; and none shows it any earlier.
    before = found - 1 + zone.offset_at(found - 1)
    assert (shown >= local).all()
    skipped = shown != local
    assert (before[skipped] < local[skipped]).all()
    assert np.isin(found[skipped], changes).all()
    for earlier in (3600, 1800, 1200, 7200):
        same = found - earlier * SECOND
        assert (same + zone.offset_at(same) != local).all()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Europe/Berlin", "Europe/Paris"),
        ("Europe/Lisbon", "Europe/London"),
        ("America/Sao_Paulo", "America/Bahia"),
        ("Africa/Cairo", "Asia/Beirut"),
    ],
)
def test_the_first_difference_of_two_tables(one: str, other: str) -> None:
    zones = installed_zone(one), installed_zone(other)
    found = first_difference(*zones)
    assert found is not None
    instant, *offsets = found

    def by_python(us: int) -> list[int]:
        moment = EPOCH + us * US
        return [(moment.astimezone(zone.info).utcoffset() or US * 0) // US for zone in zones]

    assert by_python(instant) == offsets
    earlier = range(int(datetime(1800, 1, 1, tzinfo=UTC).timestamp()), instant // SECOND, 43_200)
    assert all(ours == theirs for ours, theirs in (by_python(at * SECOND) for at in earlier))


def test_tables_that_are_written_differently_are_alike() -> None:
    """As those of another compiler, which spells out what a rule says."""
    berlin, copenhagen = installed_zone("Europe/Berlin"), installed_zone("Europe/Copenhagen")
    assert first_difference(berlin, copenhagen) is None
    assert first_difference(berlin, Zone(berlin.name, berlin.table + b"\0")) is None
