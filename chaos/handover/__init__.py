"""A run takes over from the live one: where the two must agree, and whether they do."""
