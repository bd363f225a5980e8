"""Defects of copies of large state on workers' disks, and of the store that looks for them."""

from __future__ import annotations

import os
from contextlib import suppress
from hashlib import sha256

from chaos.planted_bugs.conditions import some_operators
from chaos.planted_bugs.planted import planted
from chaos.simulator.draw.wish import Wish
from windowing.engine.tuning import tuning
from windowing.spark.storage.store import (
    _DIGEST_FOLLOWS,
    Copies,
    MapStateStore,
    _digest_in,
    value_key,
)

_BY_STATE = (
    "no error, deterministic, repeatable, dead letters, conservation, progress, closing, "
    "exactly once, early rows"
)
_COPIES, _STORE = (
    "windowing.spark.storage.store:Copies",
    "windowing.spark.storage.store:MapStateStore",
)

COPIED = {"copied_from_bytes": 0}
"""State of any size is copied."""


# A copy that is not checked. How one gets it: its name is its digest, "so it has to be right".
@planted("copy_not_checked", _BY_STATE, at=f"{_COPIES}.read", tuning=COPIED)
def unchecked(copies: Copies, digest: bytes) -> bytes | None:
    try:
        return copies._file(digest).read_bytes()
    except OSError:
        return None


# A copy that is missing is an error. How one gets it: files are there, until a disk is cleaned or
# the task moves to another machine.
@planted("copy_has_to_be_there", "no error", at=f"{_COPIES}.read", tuning=COPIED)
def that_has_to_be_there(copies: Copies, digest: bytes) -> bytes | None:
    value = copies._file(digest).read_bytes()
    return value if sha256(value).digest() == digest else None


def _by_beginning(copies: Copies, digest: bytes) -> bytes | None:
    with suppress(OSError):
        value = copies._file(digest).read_bytes()
        return value if sha256(value[:64]).digest() == digest else None
    return None


# A copy that is known by how a value begins: another worker's newer value has the same name, and an
# old copy stands for it. How one gets it: to digest all of a large value costs time.
@planted(
    "copy_by_the_values_beginning",
    _BY_STATE,
    at=f"{_COPIES}.write",
    also={f"{_COPIES}.read": _by_beginning},
    tuning=COPIED,
)
def known_by_its_beginning(copies: Copies, value: bytes) -> bytes:
    digest = sha256(value[:64]).digest()
    file = copies._file(digest)
    own = file.with_name(f"{file.name}.{os.getpid()}")
    with suppress(OSError):
        own.write_bytes(value)
        own.replace(file)
    return digest


# A store that leaves the value to its copy. How one gets it: what has a copy "need not be sent",
# and is lost with the worker's disk.
@planted("copy_in_place_of_the_state", _BY_STATE, at=f"{_STORE}.put", tuning=COPIED)
def left_to_the_copy(store: MapStateStore, key: str, value: bytes) -> None:
    if store._copies is None or len(value) < tuning().copied_from_bytes:
        store._digests[key] = None
        store._put(key, value)
        return
    digest = store._digests[key] = store._copies.write(value)
    store._put(key, _DIGEST_FOLLOWS + digest)
    if store._copies.read(digest) is None:
        store._put(value_key(key), value)


# What has lost its copy has no value. How one gets it: `None` for "no copy" is returned as it is,
# and means "no such key" there.
@planted("copy_lost_value_lost", _BY_STATE, at=f"{_STORE}.get", tuning=COPIED)
def lost_with_its_copy(store: MapStateStore, key: str) -> bytes | None:
    value = store._get(key)
    digest = store._digests[key] = None if value is None else _digest_in(value)
    if digest is None:
        return value
    return store._get(value_key(key)) if store._copies is None else store._copies.read(digest)


# A large value that is written under its own key only if it has no digest yet: a changed one keeps
# its first value there, which is read where there is no copy. How one gets it: "it is stored
# already", by key and not by content.
@planted("value_stored_once", _BY_STATE, at=f"{_STORE}.put", tuning=COPIED)
def stored_once(store: MapStateStore, key: str, value: bytes) -> None:
    if store._copies is None or len(value) < tuning().copied_from_bytes:
        store._digests[key] = None
        store._put(key, value)
        return
    known = store._digests.get(key)
    digest = store._digests[key] = store._copies.write(value)
    store._put(key, _DIGEST_FOLLOWS + digest)
    if known is None:
        store._put(value_key(key), value)


_delete = MapStateStore.delete


# A key whose value is stored separately is not deleted. How one gets it: what is there is a
# digest, and the value that it stands for "is deleted with its copy".
@planted(
    "large_value_not_deleted",
    _BY_STATE,
    at=f"{_STORE}.delete",
    tuning=COPIED,
    wish=Wish(classes=("operators",)),
    shows_in=some_operators(),
)
def not_deleted_if_large(store: MapStateStore, key: str) -> None:
    value = store._get(key)
    if value is None or _digest_in(value) is None:
        _delete(store, key)
