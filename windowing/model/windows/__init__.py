"""Windows as data: the window language, and windows by policies."""
