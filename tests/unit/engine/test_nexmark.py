"""Nexmark's query 8 by a program of its own: loops over two lists, and Python's arithmetic."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "data" / "pipelines" / "nexmark-q8"
SLACK, LENGTH = 2_000, 10_000
SELLER = {"persons": "id", "auctions": "seller"}


def read() -> tuple[dict[str, list[tuple[Any, ...]]], list[dict[str, Any]]]:
    """Records on time by topic, each with lane and offset; and the dead letters."""
    newest: dict[str, int] = {}
    taken: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    dead = []
    for line in (FOLDER / "events.jsonl").read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        topic, lane = event["source"], f"{event['source']}/{event['partition']}"
        if "control" in event:
            continue
        value = event["value"]
        window_ends = (value["dateTime"] // LENGTH + 1) * LENGTH
        if newest.get(lane, 0) - SLACK >= window_ends:
            place = {name: event[name] for name in ("source", "partition", "offset")}
            dead.append({**place, "query": "pairs", "reason": "late"})
        else:
            taken[topic].append((lane, event["offset"], value))
        newest[lane] = max(newest.get(lane, 0), value["dateTime"])
    return taken, sorted(dead, key=lambda one: (one["source"], one["partition"], one["offset"]))


def pairs() -> list[dict[str, Any]]:
    """The rows, in the order of an output file."""
    taken, _ = read()
    rows = []
    for left_lane, left_offset, person in taken["persons"]:
        for right_lane, right_offset, auction in taken["auctions"]:
            number = person["dateTime"] // LENGTH
            if person["id"] != auction["seller"] or number != auction["dateTime"] // LENGTH:
                continue
            third = auction["id"] % 3
            fails = {"overflow": ["reserve_each"]} if third == 0 else {}
            rows.append(
                {
                    "query": "pairs",
                    "window_id": number,
                    "window_start": number * LENGTH * 1_000,
                    "window_end": (number + 1) * LENGTH * 1_000,
                    "key": [person["id"], left_lane, left_offset, right_lane, right_offset],
                    "pane": "full",
                    "revision": 0,
                    "records": 2,
                    "offsets": {
                        left_lane: [left_offset, left_offset],
                        right_lane: [right_offset, right_offset],
                    },
                    "values": {
                        "name": person["name"],
                        "auction": auction["id"],
                        "after_us": (auction["dateTime"] - person["dateTime"]) * 1_000,
                        "reserve_each": auction.get("reserve", 0) // third if third else None,
                    },
                    **fails,
                }
            )
    return sorted(rows, key=lambda row: (row["window_start"], row["key"]))


def lines(found: list[dict[str, Any]]) -> str:
    texts = (json.dumps(one, ensure_ascii=False, separators=(",", ":")) for one in found)
    return "".join(f"{text}\n" for text in texts)


def test_the_recorded_bytes_are_those_of_loops() -> None:
    rows = pairs()
    assert (FOLDER / "out.jsonl").read_text(encoding="utf-8") == lines(rows)
    assert (FOLDER / "out.dead.jsonl").read_text(encoding="utf-8") == lines(read()[1])
    # There is something to tell: sellers of several auctions, windows missed, values that fail.
    assert len(rows) > 15
    assert len({row["key"][0] for row in rows}) < len(rows)
    assert any("overflow" in row for row in rows)
    assert read()[1]
