"""Running lanes and shards in one process, and the output of a run."""
