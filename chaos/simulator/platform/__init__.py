"""The simulated platform: driver, workers, state files and sink around real lanes and shards."""
