"""Kafka: clients of ours, topics, and sending to them."""
