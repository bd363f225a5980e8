"""Window operators for any Python program: a windowed aggregator, with sessions, and a join.

They take records singly or in batches, keep all state in a store of
`windowing.engine.storage.state`, apply back-pressure when their consumer refuses, and survive a
crash at any point. No Spark, no Kafka, no clock. `shell` handles calls; the row operators in
`windowing.engine.rows.flows` decide the rows.
"""

from windowing.runtime.standalone.errors import CallRefused
from windowing.runtime.standalone.operators import ANY, WindowedAggregator, WindowJoin
from windowing.runtime.standalone.shell import CallReport

__all__ = ["ANY", "CallRefused", "CallReport", "WindowJoin", "WindowedAggregator"]
