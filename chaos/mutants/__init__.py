"""Mutants of the engine: drawn, judged by the tests of their room and by simulated runs."""
