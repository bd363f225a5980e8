"""What reaches the parts of a stack, of processes or of containers."""
