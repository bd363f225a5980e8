"""What a process with a Spark session logs."""

from __future__ import annotations

import logging

import py4j.java_gateway
import pytest

from jobs.session import _is_not_of_py4j


@pytest.mark.parametrize(("file", "shown"), [(py4j.java_gateway.__file__, False), (__file__, True)])
def test_no_stack_trace_of_what_is_raised_anyway(
    file: str, shown: bool, caplog: pytest.LogCaptureFixture
) -> None:
    root = logging.getLogger()
    root.addFilter(_is_not_of_py4j)
    try:
        root.handle(logging.LogRecord("root", logging.ERROR, file, 1, "sending", (), None))
    finally:
        root.removeFilter(_is_not_of_py4j)
    assert ("sending" in caplog.text) == shown
