"""Kafka: clients, topics, and producing."""
