"""Emitters, a file for each class of windows: which rows are due when progress moves.

Begin at `windowing.engine.windows.emission.emitter`, which says what an emitter is.
"""
