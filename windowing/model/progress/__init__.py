"""Generators of progress as data."""
