"""Kafka: our clients, topics, and sending to them."""
