from tests.conftest_kafka import dead_broker, kafka_broker

__all__ = ["dead_broker", "kafka_broker"]
