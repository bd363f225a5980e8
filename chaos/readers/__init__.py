"""Independent readers of logs and of outputs."""
