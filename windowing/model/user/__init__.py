"""User code and its source, imported only on demand."""
