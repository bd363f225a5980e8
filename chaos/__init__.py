"""Breaks running pipelines and proves that their windows are still a function of the log."""
