"""Defects of windows of rows, numbered as they arrive or by time."""
