"""What a job died of: of what kind the death is, and in which words."""

from __future__ import annotations

import pytest
from psycopg import OperationalError

from jobs.brokers.broker import BrokerError
from jobs.driver.failures import death_of, final_reason, last_words
from jobs.driver.orphan import ExecutorsLost

# As pyspark 4.2 gives them; cut where they only continue.
IN_FOREACH_BATCH = """\
[STREAM_FAILED] Query [id = df694af3, runId = aa399d3b] terminated with exception: \
[FOREACH_BATCH_USER_FUNCTION_ERROR] An error occurred in the user provided function in foreach \
batch sink. Reason: An exception was raised by the Python Proxy. Return Message: Traceback (most \
recent call last):
  File "python/lib/py4j/clientserver.py", line 644, in _call_proxy
    return_value = getattr(self.pool[obj_id], method)(*params)
  File "windowing/spark/sinks/table.py", line 143, in _append
    write_deltalake(table, rows, mode="append")
deltalake.exceptions.SchemaMismatchError: Cannot cast schema, number of fields: 4 vs 3
 SQLSTATE: 39000
=== Streaming Query ===
Identifier: tides [id = df694af3, runId = aa399d3b]
+- LocalRelation <empty>
"""
BY_SPARK = """\
[STREAM_FAILED] Query [id = df694af3, runId = aa399d3b] terminated with exception: Python worker \
failed to connect back. SQLSTATE: XXKST
=== Streaming Query ===
+- LocalRelation <empty>
"""
KAFKA = """\
[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: \
org.apache.kafka.common.errors.TimeoutException: Timed out waiting for a node assignment. Call: \
describeTopics SQLSTATE: XXKST
"""


class StreamingQueryException(Exception):
    """Of the name of pyspark's, which cannot be made without a JVM."""


def test_the_words_are_those_of_the_innermost_error() -> None:
    assert last_words(IN_FOREACH_BATCH).startswith("deltalake.exceptions.SchemaMismatchError: Cann")
    assert last_words(BY_SPARK) == "Python worker failed to connect back."
    assert last_words(KAFKA).startswith("org.apache.kafka.common.errors.TimeoutException: Timed")
    assert last_words("") == "it says no more"


def test_tables_that_do_not_take_the_rows_are_final() -> None:
    reason = final_reason(IN_FOREACH_BATCH)
    assert reason is not None
    assert "number of fields: 4 vs 3" in reason
    assert "sink.table" in reason
    assert "\n" not in reason
    assert final_reason(BY_SPARK) is None


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (StreamingQueryException(IN_FOREACH_BATCH), "error"),
        (ValueError("no"), "error"),
        (StreamingQueryException(BY_SPARK), "silent"),
        (ConnectionRefusedError(111, "Connection refused"), "silent"),
        (StreamingQueryException(KAFKA), "outage"),
        (BrokerError("no broker answers"), "outage"),
        (OperationalError("connection refused: is the server running?"), "outage"),
        (OperationalError('FATAL:  password authentication failed for user "tide"'), "error"),
        (OperationalError('FATAL:  database "tide" does not exist'), "error"),
        (ExecutorsLost("no executor for 60 s"), "outage"),
    ],
)
def test_kinds_of_deaths(error: Exception, kind: str) -> None:
    death = death_of(error)
    assert death.number == 1
    assert getattr(death, kind) == 1
    assert death.last
    assert "\n" not in death.last
