"""The classes of windows, a file each: a lane's part finds them, a shard's makes their rows."""
