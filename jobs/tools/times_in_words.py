"""Lengths of time in words, and rounded so that they are easy to write."""

from __future__ import annotations

from typing import Final

_UNITS: Final = (("d", 86_400_000_000), ("h", 3_600_000_000), ("min", 60_000_000), ("s", 1_000_000))
_SHOWN = 2


def in_words(us: float) -> str:
    """Say a length of time in its two largest units.

    >>> in_words(51_960_000_000), in_words(90_000_000), in_words(1_500_000), in_words(20)
    ('14 h 26 min', '1 min 30 s', '1.5 s', '20 us')

    Args:
        us: microseconds; negative for what comes too early.
    """
    if us < 0:
        return f"-{in_words(-us)}"
    left = round(us)
    if left < 1_000:
        return f"{left} us"
    if left < 60_000_000:
        return f"{left / 1e6:.3g} s" if left >= 1_000_000 else f"{left / 1e3:.3g} ms"
    largest = next(at for at, (_, size) in enumerate(_UNITS) if left >= size)
    smallest = _UNITS[min(largest + 1, len(_UNITS) - 1)][1]
    left = (left + smallest // 2) // smallest * smallest
    words: list[str] = []
    for unit, size in _UNITS[max(0, largest - 1) :]:
        if left >= size and len(words) < _SHOWN:
            words.append(f"{left // size} {unit}")
            left %= size
    return " ".join(words)


def round_up(us: int) -> int:
    """Round a length of time up to two digits of a unit of which it has at least ten.

    So one word says it: 51,960 s becomes 15 hours, not 52,000 s.
    """
    for _, size in (*_UNITS, ("ms", 1_000)):
        if us >= 10 * size:
            return _two_digits(-(-us // size)) * size
    return _two_digits(us)


def _two_digits(number: int) -> int:
    if number < 100:
        return number
    unit: int = 10 ** (len(str(number)) - 2)
    return -(-number // unit) * unit
