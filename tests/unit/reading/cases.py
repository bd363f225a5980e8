"""All recorded cases of reading."""

from __future__ import annotations

from collections.abc import Iterator

from tests.unit.reading.plain_python import Case
from tests.unit.reading.times import fraction, iso, ns, plain, retries, text
from tests.unit.reading.values import broker, money, orders


def cases() -> Iterator[Case]:
    """Compute each of them."""
    for make in (money, orders, broker, iso, ns, fraction, text, retries, plain):
        yield make()
