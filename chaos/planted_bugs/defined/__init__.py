"""Defects of windows that records define: by tuple, by n, by rank."""
