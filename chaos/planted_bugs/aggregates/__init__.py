"""Defects of aggregates: nulls, ties, rounding, merging."""
