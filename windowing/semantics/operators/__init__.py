"""The rows of a standalone operator, by definition."""
