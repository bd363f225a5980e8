"""Bounds on time find what takes too long, whether it succeeds or is refused."""

import itertools

import pytest

from tests.bounds import within


def test_what_takes_too_long_is_found() -> None:
    with pytest.raises(AssertionError, match="took"), within(0):
        pass


def test_a_refusal_that_takes_too_long_is_found() -> None:
    with pytest.raises(AssertionError, match="took"), within(0):
        raise ValueError


def test_a_refusal_that_comes_soon_is_what_it_is() -> None:
    ticks = itertools.count()
    with pytest.raises(ValueError, match="mine"), within(1_000, lambda: float(next(ticks))):
        raise ValueError("mine")
