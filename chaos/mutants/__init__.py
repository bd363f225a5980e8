"""Mutants of the engine: drawn by cosmic-ray, judged by the tests of their room and by simulation."""
