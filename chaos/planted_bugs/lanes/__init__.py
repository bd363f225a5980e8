"""Defects of one partition's order, redelivery, poison, and lateness."""
