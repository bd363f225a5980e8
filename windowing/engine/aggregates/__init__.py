"""Exact aggregates: partial states that merge in any order to the same bits.

A partial state is a handful of 64-bit columns. Each column merges by addition, minimum or maximum
– all three commutative and associative on integers and on finite floats without NaN – so partials
may be combined in any grouping. What rounds, rounds once, in `results`.
"""

from windowing.engine.aggregates.plan import Accumulators
from windowing.engine.aggregates.schema import StateSchema

__all__ = ["Accumulators", "StateSchema"]
