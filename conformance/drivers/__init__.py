"""Drivers that run cases: the local engine, Spark, standalone operators, policy windows."""
