"""The classes of windows: who assigns records to them, and who emits their rows."""
