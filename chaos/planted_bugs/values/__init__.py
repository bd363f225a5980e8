"""Defects in decoding values into records."""
