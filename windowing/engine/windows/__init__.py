"""The classes of windows, a file each: a lane's part assigns them, a shard's builds their rows."""
