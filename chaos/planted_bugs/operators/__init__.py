"""Bugs in operators over policy windows, and in what hosts them."""
