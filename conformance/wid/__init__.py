"""The window language."""
