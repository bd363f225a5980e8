from tests.stack.containers.conftest import (
    box_session,
    cluster,
    docker_engine,
    forgotten_sockets,
    postgres,
    pytest_configure,
    spark,
)

__all__ = [
    "box_session",
    "cluster",
    "docker_engine",
    "forgotten_sockets",
    "postgres",
    "pytest_configure",
    "spark",
]
