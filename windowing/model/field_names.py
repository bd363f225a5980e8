"""Names of fields and of aggregates: any text that every table can hold."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator

from windowing.model.windows.window import ROW_NUM

_BYTES_MAX = 255


def check_field_name(name: str) -> str:
    """Whether a field, or an aggregate, may be called so.

    Raises:
        ValueError: it is empty, no text, too long, or holds U+0000.
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
    """Whether the field of the event time may be called so.

    Raises:
        ValueError: as of `check_field_name`; or windows would take it for the number of a row.
    """
    check_field_name(name)
    if name == ROW_NUM:
        msg = f"{name} is the number of a row to windows: give the event time another name"
        raise ValueError(msg)
    return name


FieldName = Annotated[str, AfterValidator(check_field_name)]
TimeName = Annotated[str, AfterValidator(check_time_name)]
