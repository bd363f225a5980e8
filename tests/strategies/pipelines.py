"""Whole cases – a pipeline, and lanes for it – as the simulator draws them.

Hypothesis is the source of every choice, so it shrinks what it has found.
"""

from __future__ import annotations

from hypothesis import strategies as st

from chaos.simulator.draw import Wish, draw_log, draw_pipeline
from chaos.simulator.draw.wish import JOIN, OPERATORS
from tests.strategies.logs import Case
from windowing.model import parse_pipeline

_RANDOM = st.randoms(use_true_random=False, note_method_calls=False)


@st.composite
def cases(
    draw: st.DrawFn,
    *,
    kind: str = "sliding",
    wide: bool = False,
    bad_values: bool = True,
    records_max: int = 40,
    number: bool = False,
) -> Case:
    """A pipeline and a log for it.

    Args:
        draw: given by Hypothesis.
        kind: the class of all windows, one of `KINDS`, or `OPERATORS`; for others than sliding
            ones, PATTR occurs as well.
        wide: windows may be aligned at their starts, later rows discarding or retracting.
        bad_values: whether spoilt values occur (times out of range and records after the end may
            occur in any case).
        records_max: the greatest number of records.
        number: some windows lie over a plain number instead of the event time.
    """
    wish = Wish(
        classes=(kind,),
        number=number,
        wide=wide,
        provisional=False,
        bad_values=bad_values,
        # Queries of one class are alike, and each costs as much as the whole log.
        queries_max=3 if kind == "sliding" else 1 if kind == OPERATORS else 2,
        records_max=records_max,
        long=0,
        crowded=0,
        one_table=0,
        overflow=0,
        refusals=False,
    )
    return _case(draw, wish)


@st.composite
def join_cases(draw: st.DrawFn, records_max: int = 24, kind: str = JOIN) -> Case:
    """A pipeline that joins two topics, and a log of both."""
    wish = Wish(
        classes=(kind,), records_max=records_max, long=0, crowded=0, overflow=0, refusals=False
    )
    return _case(draw, wish)


def _case(draw: st.DrawFn, wish: Wish) -> Case:
    rng = draw(_RANDOM)
    text = draw_pipeline(rng, wish)
    return Case(text, draw_log(rng, parse_pipeline(text), wish))
