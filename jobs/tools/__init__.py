"""Tools around logs and results: control records, tuning, pictures, dead letters."""
