"""A user's package: one toy of each kind, known to the product by its entry points alone."""
