"""Programs for Spark, and the tools to deploy, run and inspect them."""
