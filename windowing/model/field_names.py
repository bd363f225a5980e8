"""Names of fields and aggregates: any text that all supported tables can hold."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator

from windowing.model.windows.window import ROW_NUM

_BYTES_MAX = 255


def check_field_name(name: str) -> str:
    """Check the name of a field or an aggregate.

    Raises:
        ValueError: it is empty, not text, too long, or contains U+0000.
    """
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        msg = f"{name!r} is not text: it has half of a surrogate pair; write the whole character"
        raise ValueError(msg) from None
    if not name:
        msg = "a name is empty: name the field as it is called in a value, as delay"
        raise ValueError(msg)
    if "\0" in name:
        msg = f"{name!r} holds U+0000, which no table takes in a name: call it otherwise"
        raise ValueError(msg)
    if size > _BYTES_MAX:
        msg = f"{name[:40]!r}… has {size} bytes, and a name at most {_BYTES_MAX} bytes: shorten it"
        raise ValueError(msg)
    return name


def check_time_name(name: str) -> str:
    """Check the name of the event time's field.

    Raises:
        ValueError: as for `check_field_name`; or it is reserved for row numbers in windows.
    """
    check_field_name(name)
    if name == ROW_NUM:
        msg = f"{name} is the number of a row to windows: give the event time another name"
        raise ValueError(msg)
    return name


FieldName = Annotated[str, AfterValidator(check_field_name)]
TimeName = Annotated[str, AfterValidator(check_time_name)]
