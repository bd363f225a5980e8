"""Assigners, a file for each class of windows: which windows take a record, on time or late.

Begin at `windowing.assign.assigner`, which says what an assigner is.
"""
