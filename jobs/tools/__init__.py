"""Tools for logs and results: control records, tuning, pictures, dead letters."""
