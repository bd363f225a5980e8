"""Raw rows from Spark: from topics, from files, from any table of records."""
