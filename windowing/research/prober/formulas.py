"""How the start of the first window may follow from size w, slide b and first time f."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import NamedTuple

from windowing.research.prober.box import Size


class Formula(NamedTuple):
    """`a * w + c * b + g * f + d`, or `k * b + e * w + d` with k the rounded `(f + a w + c b) / b`.

    Attributes:
        rounding: `""`: the first form; `ceil` or `floor`: the second.
        a, c, d: coefficients of size and slide, and a constant.
        outer: g in the first form, e in the second.
    """

    rounding: str
    a: int
    c: int
    outer: int
    d: int

    def start(self, asked: Size) -> int:
        """Return the exclusive lower bound of the first window."""
        w, b, f = asked
        if not self.rounding:
            return self.a * w + self.c * b + self.outer * f + self.d
        within = f + self.a * w + self.c * b
        rounded = -(-within // b) if self.rounding == "ceil" else within // b
        return rounded * b + self.outer * w + self.d

    def __str__(self) -> str:
        if not self.rounding:
            return _sum((self.a, "w"), (self.c, "b"), (self.outer, "f"), (self.d, ""))
        within = _sum((1, "f"), (self.a, "w"), (self.c, "b"))
        rest = _sum((self.outer, "w"), (self.d, ""))
        head = f"{self.rounding}(({within}) / b) * b"
        return head if rest == "0" else f"{head} + {rest}".replace("+ -", "- ")


def _sum(*terms: tuple[int, str]) -> str:
    """Spell a sum of multiples, without those that are zero."""
    spelled = ""
    for factor, name in terms:
        if factor:
            size = "" if abs(factor) == 1 and name else str(abs(factor))
            sign = "-" if factor < 0 else "+"
            spelled += f" {sign} {size}{name}" if spelled else f"{'-' * (factor < 0)}{size}{name}"
    return spelled or "0"


_CONSTANTS = range(-2, 2)
_SLIDES = range(-2, 2)
_SIGNS = (0, -1, 1)


@cache
def formulas() -> tuple[Formula, ...]:
    """Return the formulas that are tried, plain ones first."""
    plain = product(("",), _SIGNS, _SLIDES, _SIGNS, _CONSTANTS)
    rounded = product(("ceil", "floor"), _SIGNS, (0,), _SIGNS, _CONSTANTS)
    shifted = product(("ceil", "floor"), _SIGNS, (-2, -1, 1), _SIGNS, _CONSTANTS)
    return tuple(Formula(*parts) for parts in (*plain, *rounded, *shifted))
