"""What a driver reports about its own end, and when it ends by itself."""
