"""A real Kafka broker for the tests that need one: started once per session, at first use.

Import the fixture `kafka_broker` in the conftest.py of the folder that wants it.
"""

import tempfile
import warnings
from pathlib import Path

import pytest

with warnings.catch_warnings():
    # kafka-python reads its protocol files in a way that Python 3.11 deprecates.
    warnings.simplefilter("ignore", DeprecationWarning)
    import kafka  # noqa: F401

_BROKER = pytest.StashKey[str]()


@pytest.fixture(scope="session")
def kafka_broker(request: pytest.FixtureRequest) -> str:
    """`host:port` of the session's broker."""
    from infra import stack
    from infra.layout import Layout

    config = request.config
    if _BROKER not in config.stash:
        folder = tempfile.TemporaryDirectory(prefix="slackwater-kafka-")
        layout = Layout(Path(folder.name))
        config.add_cleanup(folder.cleanup)
        config.add_cleanup(lambda: stack.down(layout=layout) and None)  # runs first
        config.stash[_BROKER] = stack.up(only=["kafka"], layout=layout).kafka_bootstrap
    return config.stash[_BROKER]


@pytest.fixture
def dead_broker(monkeypatch: pytest.MonkeyPatch) -> str:
    """`host:port` where nothing listens; the wait for it is short."""
    from jobs.brokers import broker

    monkeypatch.setattr(broker, "BOOTSTRAP_S", 0.3)
    return "127.0.0.1:1"
