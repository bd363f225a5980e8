"""Windows by policies, and the operators over them."""
