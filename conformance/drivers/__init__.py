"""What computes a case: the local engine, Spark, standalone operators, policy windows."""
