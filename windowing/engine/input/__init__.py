"""From raw rows to columns: values, control records, and what is refused."""
