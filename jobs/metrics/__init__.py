"""Metrics of a running job: a line per batch, a Prometheus endpoint, and lineage."""
