"""Independent readers of logs and outputs."""
