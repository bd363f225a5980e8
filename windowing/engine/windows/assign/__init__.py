"""Assigners, a file for each class of windows: which windows take a record, on time or late.

Begin at `windowing.engine.windows.assign.assigner`, which says what an assigner is.
"""
