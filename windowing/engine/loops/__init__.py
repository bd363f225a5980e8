"""Loops over rows for which numpy would need several passes, compiled by numba.

Plain functions of arrays: nothing here knows what a window, a key or a pipeline is.
"""
