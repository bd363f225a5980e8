"""The Spark engine: the same lanes and shards inside Structured Streaming.

    rows ──pack──► lane (keyed by partition) ──► shard (keyed by shard number) ──► sink

Spark keeps the state, versioned with the batch: a batch that is run again starts from the old
state, so lanes and shards need no notion of failure.

Begin at `windowing.spark.plan`. Nothing is imported here: `daemon` must stay light.
"""
