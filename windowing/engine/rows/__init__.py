"""The row path: operators that process record by record, with state per key."""
