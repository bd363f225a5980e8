from tests.conftest_kafka import kafka_broker
from tests.spark.conftest import spark

__all__ = ["kafka_broker", "spark"]
