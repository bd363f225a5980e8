"""The definitions of windows: a file per class."""
