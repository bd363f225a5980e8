"""Whether checkpoint, tables and topic belong together, and what can be repaired."""
