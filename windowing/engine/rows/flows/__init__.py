"""Row operators of one flow: windows, sessions and joins whose rows follow the log's progress."""
