from collections.abc import Iterator

import pytest

from windowing.engine.tuning import tuned


@pytest.fixture(scope="module")
def two_share() -> Iterator[None]:
    """As few as two queries share slices."""
    with tuned(share_from_queries=2):
        yield
