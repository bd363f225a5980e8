"""Defects of sliding, tumbling and landmark windows, and their late epochs."""
