"""What drives lanes and shards in one process, and what comes out of a run."""
