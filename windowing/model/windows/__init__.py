"""Windows as data: the window language, and policy windows."""
