"""Defects of a shard's state: deltas, compaction, retention, what queries share."""
