"""What runs on the platform: programs for Spark, and rooms for all that stands around them."""
