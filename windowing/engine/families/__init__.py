"""Families: queries over one stream that share slices.

Where many queries differ only in their windows and aggregates, a lane computes one partial state
for each key and slice of all their windows together, and a shard keeps it once. Each query's rows
are those it would have alone, byte for byte. See `windowing/adr/0039`.
"""
