"""The row path: operators that are fed record by record, and keep what they need per key."""
