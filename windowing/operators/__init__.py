"""Window operators for any Python program: a windowed aggregator, with sessions, and a join.

They are fed record by record or batch by batch, keep everything in a store of
`windowing.engine.state`, push back when their consumer refuses, and can be crashed at any point. No
Spark, no Kafka, no clock. `shell` says what a call does, `windows`, `sessions` and `join` what it
means.
"""

from windowing.operators.aggregator import ANY, WindowedAggregator
from windowing.operators.errors import CallRefused
from windowing.operators.join import WindowJoin
from windowing.operators.shell import CallReport

__all__ = ["ANY", "CallRefused", "CallReport", "WindowJoin", "WindowedAggregator"]
