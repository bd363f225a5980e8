"""What to do about dead letters, by their reason."""

from __future__ import annotations

_WAYS_OUT = {
    "change_too_late": "write the change with a later `from` or `until`, into every partition",
    "not_allowed": "a control record that source.control does not believe: find out who writes it; "
    "believe more (all), or sign it, if it is yours",
    "after_end": "nothing may follow an end record: write to a new topic or partition",
    "malformed": "the producer sends something else than a JSON object, or a control record that "
    "is none; `slackwater record` gives you the record",
    "missing_event_time": "let the producer set the event time, or name another field under "
    "source.event_time",
    "bad_event_time": "let the producer send the unit that source.event_time names, or name its "
    "unit there",
    "time_out_of_range": "look at the producer's clock and unit, or move source.event_time.min and "
    "max",
    "time_ahead": "look at the producer's clock, or allow more under source.event_time.max_ahead",
    "unknown_field": "declare the field under source.fields, or pass over all such by "
    "source.unknown_fields: ignore",
    "null_key": "let the producer set it, or put a ? behind its type: null is a key then",
    "bad_type": "let the producer send the declared type, or declare what it sends (? allows null)",
    "bad_expression": "a derived field cannot be computed of it: guard the expression",
    "late": "allow more disorder (`slackwater tune` shows the cost), or take late records by "
    "late: {policy: update}",
    "out_of_retention": "allow more disorder (`slackwater tune`), or a longer retention",
}


def way_out(reason: str) -> str:
    """Return what to do about dead letters with a reason."""
    if reason.startswith("rule:"):
        return f"the rule {reason.removeprefix('rule:')} of source.rules does not hold for it"
    return _WAYS_OUT.get(reason, "look at the record: `slackwater record` gives it to you")
