"""What runs on the platform: programs for Spark, and everything around them."""
