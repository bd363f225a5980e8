"""Cause of failure of a streaming query, as one sentence instead of two stack traces."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from jobs.runs.life import Deaths
from windowing.model import run_errors as errors
from windowing.model.registry import PluginError
from windowing.model.user.user_aggregate import BeyondInt64, UserAggregateError
from windowing.model.user.user_operator import UserOperatorError

_RAISED = re.compile(
    r"windowing\.model\.(?:run_errors|registry|user\.user_(?:aggregate|operator))\.(\w+): (.+)"
)
_OF_USERS = {
    one.__name__: one for one in (UserAggregateError, BeyondInt64, UserOperatorError, PluginError)
}
# A restart would meet these again; the patterns are Spark's or the system's own words.
_FINAL_MARKS = (
    "offset was changed",
    "Some data may have been lost",
)
_SCHEMA = re.compile(r"SchemaMismatchError: (.+)")
# Python's errors; Java's are in packages that do not exist in Python.
_ERROR = re.compile(r"(?!(?:org|java|javax|py4j|scala)\.)(?:\w+\.)*\w*(?:Error|Exception)\b: .+")
_TERMINATED = re.compile(r"^.*terminated with exception: |,? SQLSTATE: \w+$")
_WORDS_MAX = 500
# Processes that were killed, from outside or for lack of memory; the two look the same.
_KILLED = (
    "Py4JNetworkError",
    "Answer from Java side is empty",
    "ConnectionRefusedError",
    "ExecutorLostFailure",
    "Python worker exited unexpectedly",
    "Python worker failed to connect back",
)
# Outages that end by themselves, even after hours. Kafka's permanent rejections come first.
_AWAY = (
    "BrokerError",
    "ExecutorsLost",
    "OperationalError",
    "org.apache.kafka.common.",
    "KafkaTimeoutError",
    "KafkaConnectionError",
    "java.net.ConnectException",
    "java.net.UnknownHostException",
    "All masters are unresponsive",
    "stopped SparkContext",
    "SparkContext was shut down",
)
# PostgreSQL reports these in the same error class as its absence.
_REFUSED = ("authentication failed", "no pg_hba.conf entry", "does not exist")
_NO_SPACE = "No space left on device"
_STATE_FILE = re.compile(r"[\w./:-]*/state/\d+/\d+/[\w.-]+\.(?:changelog|zip|sst)")
_STATE_MARKS = ("does not exist", "FileNotFoundException", "NoSuchFile", "Checksum error")
_GONE = re.compile(r"Could not read records in offset \[(\d+), (\d+)\) for topic partition (\S+)")


def windowing_error(text: str) -> errors.WindowingError | ValueError | None:
    """Return the error of the runtime, or of a user's code, in the message of a failed query.

    None: it died of something else. Both kinds would recur at every restart.
    """
    for name, message in reversed(_RAISED.findall(text)):
        if name in _OF_USERS:
            return _OF_USERS[name](message.strip())
        kind = getattr(errors, name, None)
        if isinstance(kind, type) and issubclass(kind, errors.WindowingError):
            return kind(message.strip())
    return None


def gone(partition: str, first: int, end: int) -> str:
    """Format the error for records that were deleted before they were read.

    Args:
        partition: `topic-number`, as Spark and Kafka's tools spell it.
        first: the first offset that is missing.
        end: the first offset after those known to be missing.
    """
    return (
        f"records of {partition} from offset {first} on, before {end}, are gone and were not "
        "read: bring them back, or start a new run from what is left"
    )


def death_of(error: Exception) -> Deaths:
    """Classify a death, with its cause as one sentence."""
    text, kind = str(error), type(error).__name__
    words = last_words(text) if "\n" in text else f"{kind}: {text}"
    named = f"{kind}: {text}"
    if any(mark in named for mark in _KILLED):
        return Deaths(silent=1, last=words)
    if any(mark in named for mark in _AWAY) and not any(mark in named for mark in _REFUSED):
        return Deaths(outage=1, last=words)
    return Deaths(error=1, last=words)


def last_words(text: str) -> str:
    """Return the innermost error in the message of a failed query, as one line.

    Args:
        text: with the stack traces of Java and of Python, and the plan of the query.
    """
    message = text.partition("=== Streaming Query ===")[0]
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    # The last Python error is the innermost; Java's message about it follows.
    raised = [line for line in lines if _ERROR.match(line)]
    said = _TERMINATED.sub("", lines[0]) if lines else "it says no more"
    return (raised[-1] if raised else said)[:_WORDS_MAX]


def final_reason(text: str, places: Iterable[Path] = ()) -> str | None:
    """Say why a restart would fail in the same way; None: it may succeed.

    Args:
        text: the message of the failed query.
        places: folders that the job writes to; the system says that a disk is full, but not which.
    """
    error = windowing_error(text)
    if error is not None:
        return str(error)
    if found := _GONE.search(text):
        first, end, partition = found.groups()
        return gone(partition, int(first), int(end))
    state = _STATE_FILE.search(text)
    if state and any(mark in text for mark in _STATE_MARKS):
        return (
            f"the state file {state.group()} is missing or damaged: put it back, this very file or "
            "the checkpoint as a whole, or start a new run to replay"
        )
    if found := _SCHEMA.search(text):
        return (
            f"the tables were made by another version of the file and do not take its rows "
            f"({found.group(1).strip()}): give the changed file a `sink.table` of its own, or go "
            "back to the file that made them"
        )
    if _NO_SPACE in text:
        left = [f"{place} has {shutil.disk_usage(place).free} bytes left" for place in places]
        return f"{'; '.join([_NO_SPACE, *left])}: make room, then submit the run again"
    lines = [line.strip() for line in text.splitlines()]
    return next((line for line in lines for mark in _FINAL_MARKS if mark in line), None)
