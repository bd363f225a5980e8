"""Window operators for any Python program: a windowed aggregator, with sessions, and a join.

They are fed record by record or batch by batch, keep everything in a store of
`windowing.engine.state`, push back when their consumer refuses, and can be crashed at any point. No
Spark, no Kafka, no clock. `shell` says what a call does; what rows it gives is the matter of the
row operators in `windowing.engine.rows.flows`.
"""

from windowing.runtime.standalone.aggregator import ANY, WindowedAggregator
from windowing.runtime.standalone.errors import CallRefused
from windowing.runtime.standalone.join import WindowJoin
from windowing.runtime.standalone.shell import CallReport

__all__ = ["ANY", "CallRefused", "CallReport", "WindowJoin", "WindowedAggregator"]
