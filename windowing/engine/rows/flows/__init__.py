"""Row operators of one flow: windows, sessions and joins, driven by the log's progress."""
