"""Code that users write, and its source: imported only when it is asked for."""
