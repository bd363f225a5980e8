"""Verdicts: on an output against the definition, on two outputs, and on a whole run."""
