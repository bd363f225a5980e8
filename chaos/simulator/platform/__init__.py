"""The simulated platform: workers, state files, sink and driver around real lanes and shards."""
