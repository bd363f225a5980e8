from collections.abc import Iterator

import pytest

from tests.conftest_kafka import dead_broker, kafka_broker
from tests.unit.jobs.master import Master, standing_in

__all__ = ["dead_broker", "kafka_broker"]


@pytest.fixture
def master() -> Iterator[Master]:
    """A stand-in for the Spark master."""
    with standing_in() as found:
        yield found
