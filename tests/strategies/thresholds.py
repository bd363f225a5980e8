"""Thresholds of the engine, as the simulator draws them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from hypothesis import strategies as st

from chaos.simulator.draw import draw_tuning
from windowing.engine.tuning import tuned

_RANDOM = st.randoms(use_true_random=False, note_method_calls=False)


@st.composite
def thresholds(draw: st.DrawFn, *, of_run: bool = True) -> dict[str, int]:
    """Thresholds that do not have their default; those of the run too, if they may change."""
    return draw_tuning(draw(_RANDOM), of_run=of_run)


def any_thresholds(test: Callable[..., None]) -> Callable[..., None]:
    """Let a test with `data` run with drawn thresholds."""

    @wraps(test)
    def with_thresholds(*args: Any, data: st.DataObject, **rest: Any) -> None:
        with tuned(**data.draw(thresholds())):
            test(*args, data=data, **rest)

    return with_thresholds
