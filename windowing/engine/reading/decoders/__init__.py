"""From the bytes of a value to its fields: a decoder for each format."""
