"""Defects of the fused plan: what a shard makes of chunks that were read apart."""
