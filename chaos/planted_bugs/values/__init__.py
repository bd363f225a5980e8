"""Defects of reading: from the bytes of a value to a record."""
