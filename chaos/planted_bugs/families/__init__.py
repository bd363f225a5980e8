"""Defects of families: queries that share slices, and get each other's rows or none."""
