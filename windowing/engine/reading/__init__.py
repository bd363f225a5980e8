"""Decoding of raw rows into columns: values, control records, and refusals."""
