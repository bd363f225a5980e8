"""A driver's own end: its causes, their report, and when it ends by itself."""
