"""Defects of joins: reach, outer rows, null keys."""
