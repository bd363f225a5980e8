"""The engine: lanes and shards, with no Spark, no clock and no I/O."""
