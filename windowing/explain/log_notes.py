"""What to say of logs, whatever a pipeline makes of them: records that are none, or come again."""

from __future__ import annotations


def nothing_sent(topic: str, records: int, appended: int) -> list[str]:
    """Return what to say of records that were sent to a topic, if none was appended."""
    if not records:
        return [f"the file has no record for topic {topic}"]
    return [] if appended else [f"topic {topic} holds all records of the file already"]


def redelivered(records: int) -> list[str]:
    """Return what to say of redeliveries in a file, which are not read again."""
    if not records:
        return []
    what = "record is a redelivery" if records == 1 else "records are redeliveries"
    return [f"{records:,} {what}: the same offset and bytes as before, of no effect, not counted"]


def nothing_added(bounds: int) -> list[str]:
    """Return what to say of a log into which no bound was put."""
    if bounds:
        return []
    return [
        "no bound was added: the log has no valid record, or source.event_time.max_ahead allows no "
        "bound that is due"
    ]


def nothing_recorded(records: int, *, is_empty_range: bool) -> list[str]:
    """Return what to say of a recording without a record."""
    if records:
        return []
    if is_empty_range:
        return ["nothing is in the range: it begins at its end, or the topic is empty"]
    return [
        "nothing is in the range: the topic has dropped its records (retention.ms), or a "
        "transaction that has them was aborted"
    ]
