"""Defects of generators, bounds, keyed progress, and the minimum over lanes."""
