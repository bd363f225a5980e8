"""Control records: which of them a pipeline believes, and how they are signed.

A control record moves progress, ends a lane, or changes the queries: whoever may write one says
what a job does. `source.control` says how far that goes. What is not believed is a dead letter,
`not_allowed`, of which nothing is imported, parsed further or kept (`windowing/adr/0055`).

A signature is the HMAC-SHA-256, in hexadecimal digits, of the lane's name, the counter and the
record's JSON, with a line feed between them. The counter rises in each lane, so that a record that
was believed once is not believed again.
"""

from __future__ import annotations

import hmac
import os
import re
from functools import cached_property
from hashlib import sha256
from typing import Annotated, Final, Literal, NamedTuple

import msgspec
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from windowing.model.facts import Facts, without_defaults
from windowing.model.lengths import INT64_MAX

CONTROL_HEADER: Final = "slackwater-control"
"""The Kafka header that makes a record a control record; its bytes are the control as JSON."""

SIGNATURE_HEADER: Final = "slackwater-signature"
COUNTER_HEADER: Final = "slackwater-counter"

WINDOWS_MAX: Final = 10_000
"""In how many windows of a query that a log adds a record may lie."""

AGGREGATES_MAX: Final = 100
"""How many aggregates such a query has at the most."""

_BOUND_BYTES, _LANE_BYTES, _QUERY_BYTES = 4_096, 300, 1_024
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_COUNTER: Final = re.compile(rb"0|[1-9][0-9]{0,18}")
_SEAL: Final = b"\x00"

Believes = Literal["none", "bounds", "all"]
_WIDTH: Final[dict[Believes, int]] = {"none": 0, "bounds": 1, "all": 2}


class ControlKeyError(ValueError):
    """A pipeline whose control records are signed, and no secret to check or sign them with."""

    exit_code = 2


def _variable(value: object) -> object:
    if value is not None and not (isinstance(value, str) and _VARIABLE.fullmatch(value)):
        msg = (
            "key names the environment variable that has the secret, as "
            "key: CONTROL_KEY; the secret itself never stands in a file"
        )
        raise ValueError(msg)
    return value


class ControlRule(BaseModel):
    """Which control records a pipeline believes.

    Attributes:
        believe: `none`; `bounds`: bounds, heartbeats and ends; `all`: changes of the queries, too.
        queries: how many queries the log may add in a lane.
        key: the environment variable with the secret of the signatures; None: they are not signed.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, ignored_types=(cached_property,))

    believe: Believes = "bounds"
    queries: Annotated[int, Field(strict=True, ge=1, le=10_000)] = 100
    key: Annotated[str | None, BeforeValidator(_variable)] = None

    def facts(self) -> Facts:
        """Return the facts for the fingerprint; their names are a format."""
        facts: Facts = {
            "believe": self.believe,
            "queries": self.queries if self.believe == "all" else 100,
            "key": self.key,
        }
        return without_defaults(facts, {"believe": "bounds", "queries": 100, "key": None})

    def bytes_max(self, lanes: int, *, change: bool) -> int:
        """Return how long a control record may be, in bytes; none that is longer is parsed.

        Args:
            lanes: how many lanes the pipeline has; a heartbeat names them.
            change: whether it changes the queries.
        """
        bound = _BOUND_BYTES + _LANE_BYTES * lanes
        return bound + _QUERY_BYTES * self.queries if change else bound

    def believes_as_much(self, other: ControlRule) -> bool:
        """Return whether all that another rule believes is believed by this one, too."""
        signed = self.key is None or self.key == other.key
        wide = self.queries >= other.queries or other.believe != "all"
        return _WIDTH[self.believe] >= _WIDTH[other.believe] and signed and wide

    @cached_property
    def secret(self) -> bytes | None:
        """The secret of the signatures; None: they are not signed.

        Raises:
            ControlKeyError: the variable is not set.
        """
        if self.key is None:
            return None
        found = os.environ.get(self.key)
        if not found:
            msg = (
                f"source.control.key: the environment variable {self.key} is not set: give it the "
                "secret that control records are signed with"
            )
            raise ControlKeyError(msg)
        return found.encode()


def parse_control_rule(value: object) -> ControlRule:
    """Parse `source.control`: a word, or a mapping.

    Raises:
        ValueError: it is neither.
    """
    if isinstance(value, ControlRule):
        return value
    if isinstance(value, str) and value not in ("none", "bounds", "all"):
        msg = f"{value!r} is not a rule for control records: use none, bounds or all"
        raise ValueError(msg)
    if not isinstance(value, str | dict):
        msg = "control is none, bounds or all, or a mapping, as {believe: all, queries: 100}"
        raise ValueError(msg)
    return ControlRule.model_validate({"believe": value} if isinstance(value, str) else value)


class Outline(NamedTuple):
    """What a control record is about, as far as it takes to know whether it is believed.

    Attributes:
        change: whether it is about queries.
        names: how many queries it adds, or removes, whichever are more; 0 if it says neither.
    """

    change: bool
    names: int = 0


class _Parts(msgspec.Struct):
    add: dict[str, msgspec.Raw] = {}
    remove: dict[str, msgspec.Raw] = {}


_MEMBERS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_PARTS: Final = msgspec.json.Decoder(_Parts)
_TEXTS: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_DEPTH_MAX: Final = 32


def outline(body: bytes) -> Outline | None:
    """Return the outline of a control record; None: it is no JSON object, or nests too deep.

    Engine and definition share it: two parsers differ in what they call JSON where nobody looks,
    and one record would then be two dead letters.
    """
    if _is_deep(body):
        return None
    try:
        members = _MEMBERS.decode(body.decode())
        if {*members} != {"queries"}:
            return Outline(change=False)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    try:
        parts = _PARTS.decode(members["queries"])
    except msgspec.DecodeError:
        return Outline(change=True)
    return Outline(True, max(len(parts.add), len(parts.remove)))


def _is_deep(body: bytes) -> bool:
    """Whether brackets outside of texts nest deeper than any control record's, or do not match."""
    if body.count(b"{") + body.count(b"[") <= _DEPTH_MAX:
        return False
    marks = _TEXTS.sub(b"", body).translate(_BRACKETS, _OTHERS)
    for _ in range(_DEPTH_MAX):
        marks = marks.replace(b"[]", b"")
        if not marks:
            return False
    return True


_BRACKETS: Final = bytes.maketrans(b"{}", b"[]")
_OTHERS: Final = bytes({*range(256)} - {*b"[]{}"})


class ControlEnvelope(NamedTuple):
    """A control record as it came: with the headers of its signature, if it had any.

    Attributes:
        body: its JSON.
        signature, counter: the bytes of the headers; None: it is not signed.
    """

    body: bytes
    signature: bytes | None = None
    counter: bytes | None = None

    def checked(self, secret: bytes, lane: str) -> int | None:
        """Return the counter of a signature that is right; None: it is not, or there is none."""
        if self.signature is None or self.counter is None:
            return None
        if not _COUNTER.fullmatch(self.counter) or int(self.counter) > INT64_MAX:
            return None
        right = signature(secret, lane, int(self.counter), self.body)
        return int(self.counter) if hmac.compare_digest(right, self.signature) else None


def signature(secret: bytes, lane: str, counter: int, body: bytes) -> bytes:
    """Return the signature of a control record.

    Args:
        lane: the lane's name, `topic/partition`.
        counter: larger than that of any earlier control record of the lane.
        body: its JSON.
    """
    said = b"\n".join((lane.encode(), b"%d" % counter, body))
    return hmac.new(secret, said, sha256).hexdigest().encode()


def sealed(body: bytes, signed: bytes | None, counter: bytes | None) -> bytes:
    """Return a control record with the headers of its signature as one text of bytes.

    Readers of a log hand it on so. JSON never begins with a NUL: what does is made no control.
    """
    if body.startswith(_SEAL):
        return b"null"
    if signed is None or counter is None or _SEAL in signed + counter:
        return body
    return _SEAL + _SEAL.join((signed, counter, body))


def unsealed(control: bytes) -> ControlEnvelope:
    """Return what `sealed` was given; of bytes that it never makes, no control."""
    if not control.startswith(_SEAL):
        return ControlEnvelope(control)
    parts = control.split(_SEAL, 3)
    return (
        ControlEnvelope(parts[3], parts[1], parts[2])
        if len(parts) == 4
        else ControlEnvelope(b"null")
    )
