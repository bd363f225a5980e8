"""The expectations made for windows, by theme; importing the package registers them."""

from chaos.quality.expectations import records, revisions, values, windows

__all__ = ["records", "revisions", "values", "windows"]
