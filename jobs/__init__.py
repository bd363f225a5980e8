"""What runs on the platform: the producer of the flights, topics, pipelines on Spark, the plot."""
