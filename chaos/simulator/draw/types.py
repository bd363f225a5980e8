"""Give drawn pipelines fields of more types than numbers and texts: as keys, and to aggregate.

This is drawn apart, so that all else is as without them.
"""

from __future__ import annotations

import random
import re
from decimal import Decimal
from typing import Any, Final

from windowing.model.functions import MEAN_PLACES, NARROW_MAX
from windowing.model.types import PRECISION_MAX, FieldType, parse_field_type

MONEY, TRUTH, DAY, INSTANT = "money", "truth", "day", "moment"
"""The fields: a decimal, a bool, a date and a timestamp."""

_DECIMALS: Final = (
    *("decimal(12,2)", "decimal(12,2)", "decimal(4,1)", "decimal(18,0)", "decimal(18,18)"),
    *("decimal(19,3)", "decimal(38,2)", "decimal(38,32)", "decimal(38,38)"),
)
_OF_ANY: Final = ("count({})", "first({})", "last({})", "argmin({})", "argmax(v, {})")
_OF_MANY: Final = ("count_distinct({})", "collect({})", "approx_count_distinct({}, 16)")
_DAYS: Final = ("2024-02-29", "2024-10-01", "1999-12-31", "0001-01-01", "9999-12-31")
_INSTANTS: Final = (0, 1_000_000, -5_000_000, 1_700_000_000_000_000, 86_400_000_000)


def add_types(rng: random.Random, document: dict[str, Any]) -> None:
    """Add the fields, aggregates over them, and often one of them to the keys of all queries."""
    fields = {
        MONEY: rng.choice(_DECIMALS) + "?",
        **{name: f"{kind}?" for name, kind in ((TRUTH, "bool"), (DAY, "date"))},
        INSTANT: "timestamp?",
    }
    if "join" in document:
        _into_join(rng, document["join"], fields)
        return
    source = document["source"]
    source["fields"] = {**source["fields"], **fields}
    key = rng.choice([None, MONEY, TRUTH, DAY, INSTANT])
    for query in document["queries"].values():
        if "aggregates" in query:
            sized = "operator" in query
            query["aggregates"] = query["aggregates"] | _aggregates(rng, fields[MONEY], sized=sized)
        # Gaps are those of a key of one field.
        grouped = "operator" not in query or query.get("group_by")
        if key is not None and grouped and isinstance(query.get("window"), str):
            query["group_by"] = [*query.get("group_by", []), key]


def _aggregates(rng: random.Random, money: str, *, sized: bool) -> dict[str, str]:
    type_ = parse_field_type(money)
    texts = [f"sum({MONEY})", f"min({MONEY})", f"max({DAY})", f"any({TRUTH})", f"all({TRUTH})"]
    texts += [text.format(field) for text in _OF_ANY for field in (MONEY, TRUTH, DAY, INSTANT)]
    if type_.scale + MEAN_PLACES <= PRECISION_MAX:
        texts += [f"mean({MONEY})"] * 3
    if type_.precision <= NARROW_MAX:
        texts += [f"var({MONEY})", f"stddev_pop({MONEY})"]
    if not sized:
        texts += [text.format(field) for text in _OF_MANY for field in (MONEY, TRUTH, INSTANT)]
        texts += [f"median({MONEY})", f"quantile({MONEY}, 0.5)", f"top_k({MONEY}, 2)"]
    chosen = [*rng.sample(texts, rng.randint(1, 3)), f"sum({MONEY})"]
    # All queries call the same alike, because they may share a table.
    return {re.sub(r"\W+", "_", text).strip("_"): text for text in chosen}


def _into_join(rng: random.Random, join: dict[str, Any], fields: dict[str, str]) -> None:
    for side in ("left", "right"):
        source = join[side]["source"]
        source["fields"] = {**source["fields"], **fields}
    join["select"] = join["select"] | {"c": f"left.{MONEY}", "d": f"right.{DAY}"}
    if rng.random() < 0.5:
        join["select"] |= {"b": f"right.{TRUTH}", "i": f"left.{INSTANT}"}
    if rng.random() < 0.3 and "where" in join:
        join["where"] = [*join["where"], rng.choice([f"left.{MONEY} >= 0", f"right.{MONEY} < 2"])]


def draw_typed(rng: random.Random, type_: FieldType) -> Any:
    """Draw a value of one of these types that is not null.

    A timestamp is in microseconds; a decimal is a text, or a number that JSON writes with its
    digits.
    """
    if type_.kind == "bool":
        return rng.random() < 0.5
    if type_.kind == "date":
        return rng.choice(_DAYS)
    if type_.kind == "timestamp":
        return rng.choice(_INSTANTS)
    most = 10**type_.precision - 1
    few = (0, 1, -1, 10, -25, 900, 1000, 2**31, -(2**32), 2**53 + 1, most, -most, most // 2 + 1)
    drawn = rng.choice(few) if rng.random() < 0.8 else rng.randint(-most, most)
    unscaled = max(-most, min(most, drawn))
    number = Decimal(f"{unscaled}E-{type_.scale}")
    if rng.random() < 0.4:
        # By value, these digits are none.
        number = number.normalize() if abs(unscaled) < 10**20 else number
    as_float = float(number)
    if rng.random() < 0.4 and Decimal(repr(as_float)) == number:
        return as_float
    return f"{number:f}"
