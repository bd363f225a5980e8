"""Audit: judges the windows that another engine wrote, by what its schedule leaves open."""
