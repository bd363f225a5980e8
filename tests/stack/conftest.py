from tests.conftest_kafka import kafka_broker

__all__ = ["kafka_broker"]
