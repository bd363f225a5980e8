"""Verdict on a simulated run, from its history alone and independent of the engine."""
