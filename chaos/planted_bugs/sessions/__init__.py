"""Defects of sessions: gaps, merging, tombstones."""
