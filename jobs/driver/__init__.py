"""What a driver says of its own end, and when it ends by itself."""
