"""What the structs of stored state look like: `python -m tests.unit.checkpoints.layouts` notes it.

`layouts.json` has, for each format, its number and the types of a struct's fields in their order.
Names are free: they are not stored.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import msgspec

from windowing.engine import early, lane
from windowing.engine.fused import settler
from windowing.engine.rows.flows import joined, partial, stores
from windowing.engine.storage import tables
from windowing.runtime.standalone import lanes

FILE = Path(__file__).parent / "layouts.json"


def layouts() -> dict[str, tuple[int, Any]]:
    """By the name of each format, its number and the layout of what is stored in it."""
    beside = [tables.Base, tables.Delta, early.EarlyState]
    of_operators = [stores.StoredWindow, partial.Partial, joined.JoinRecord, stores.DueWindow]
    return {
        lanes.STATE.what: (lanes.STATE.number, _all(lanes.STATE.type_, *of_operators)),
        lane.STATE.what: (lane.STATE.number, _all(lane.STATE.type_)),
        settler.STATE.what: (settler.STATE.number, _all(settler.STATE.type_)),
        tables.STATE.what: (tables.STATE.number, _all(tables.STATE.type_, *beside)),
    }


def _all(*types: Any) -> list[Any]:
    return [_layout(msgspec.inspect.type_info(type_)) for type_ in types]


def _layout(type_: Any) -> Any:
    """A type as lists of the names of plain ones."""
    match type_:
        case msgspec.inspect.StructType(fields=fields):
            assert type_.array_like, f"{type_.cls} is stored by place"
            return ["struct", *(_layout(field.type) for field in fields)]
        case (
            msgspec.inspect.DataclassType(fields=fields)
            | msgspec.inspect.NamedTupleType(fields=fields)
        ):
            return ["fields", *(_layout(field.type) for field in fields)]
        case msgspec.inspect.DictType():
            return ["dict", _layout(type_.key_type), _layout(type_.value_type)]
        case msgspec.inspect.ListType():
            return ["list", _layout(type_.item_type)]
        case msgspec.inspect.TupleType():
            return ["tuple", *map(_layout, type_.item_types)]
        case msgspec.inspect.UnionType():
            return ["one of", *sorted(map(str, map(_layout, type_.types)))]
    return type(type_).__name__.removesuffix("Type").lower()


def main() -> None:
    """Note the layouts, if those that differ have another number."""
    known = json.loads(FILE.read_text(encoding="utf-8"))
    now = {what: [number, layout] for what, (number, layout) in layouts().items()}
    for what in known.keys() & now.keys():
        if known[what] != now[what] and known[what][0] == now[what][0]:
            sys.exit(f"{what} has another layout, and still format {now[what][0]}: count it up")
    FILE.write_text(json.dumps(now, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
