"""Sending to topics: in order, and each record once, even if the client retries."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from kafka.errors import KafkaError

from jobs.brokers.broker import broker_error
from jobs.brokers.broker import producer as make_producer
from windowing.model.control import (
    CONTROL_HEADER,
    COUNTER_HEADER,
    SIGNATURE_HEADER,
    ControlRule,
    sealed,
    signature,
    unsealed,
)
from windowing.model.metadata import NO_METADATA, Metadata

_NO_CONTROL = b"null"

_LARGEST_REQUEST = 32 << 20
_SETTLED_S = 90


@contextmanager
def sending(bootstrap: str, topic: str = "") -> Iterator[Any]:
    """Return a producer whose retries neither repeat nor reorder; closing it flushes all records.

    Args:
        topic: the topic, for error messages.

    Raises:
        BrokerError: no broker answers, or it refuses.
    """
    producer = make_producer(
        bootstrap,
        acks="all",
        enable_idempotence=True,
        # Compression is faster: the client checksums each batch's bytes in Python.
        compression_type="gzip",
        batch_size=256 << 10,
        # The topic decides what it accepts; the client's own limit is a megabyte.
        max_request_size=_LARGEST_REQUEST,
        linger_ms=50,
        delivery_timeout_ms=60_000,
    )
    patience_s = None
    try:
        yield producer
    except KafkaError as error:
        patience_s = 0
        raise broker_error(bootstrap, error, "write", topic) from error
    except BaseException:
        patience_s = 0
        raise
    finally:
        producer.close(timeout=patience_s)


Message = (
    tuple[int, bytes | None, str | bytes | None]
    | tuple[int, bytes | None, str | bytes | None, Metadata]
)
"""Partition, value, the JSON of a control record, perhaps `sealed`, or None; and key, time, headers
of a record that has any."""


def send_all(
    bootstrap: str,
    topic: str,
    messages: Iterable[Message],
    progress: Callable[[int], None] | None = None,
) -> int:
    """Append messages to a topic in order; return how many.

    Args:
        progress: called periodically, and at the end, with the number sent.

    Raises:
        BrokerError: no broker answers, or it refuses.
    """
    sent = 0
    with sending(bootstrap, topic) as producer:
        newest: dict[int, Any] = {}
        for partition, value, control, *more in messages:
            metadata = more[0] if more else NO_METADATA
            key, time_us = metadata.key, metadata.timestamp_us
            # The client sends no header that is null, which reads like none.
            own = [(name, text) for name, text in metadata.headers if text is not None]
            newest[partition] = producer.send(
                topic,
                value=value,
                # The client requires a key if there is no value.
                key=b"" if value is None and key is None else key,
                partition=partition,
                timestamp_ms=None if time_us is None else time_us // 1_000,
                headers=[*headers(control), *own],
            )
            sent += 1
            if progress and sent % 5_000 == 0:
                progress(sent)
        for future in newest.values():
            future.get(timeout=_SETTLED_S)
        producer.flush(timeout=_SETTLED_S)
    if progress:
        progress(sent)
    return sent


def send_together(
    bootstrap: str, topic: str, controls: Mapping[int, str | bytes], transaction: str
) -> dict[int, int]:
    """Append a control record to each of some partitions, to all of them or to none.

    Args:
        controls: by partition, the JSON of its control record.
        transaction: the transactional id; a sender that still uses it is shut out.

    Returns:
        By partition, the offset of its record.

    Raises:
        BrokerError: no broker answers, or it refuses.
    """
    producer = make_producer(bootstrap, acks="all", transactional_id=transaction)
    try:
        producer.init_transactions()
        producer.begin_transaction()
        sent = {
            partition: producer.send(
                topic, value=None, key=b"", partition=partition, headers=headers(control)
            )
            for partition, control in controls.items()
        }
        offsets = {number: future.get(timeout=_SETTLED_S).offset for number, future in sent.items()}
        producer.commit_transaction()
    except KafkaError as error:
        raise broker_error(bootstrap, error, "write", topic) from error
    finally:
        producer.close(timeout=_SETTLED_S)
    return offsets


def control_of(found: Iterable[tuple[str, bytes | None]]) -> bytes | None:
    """Return the control of a record from its headers; None: it is a data record.

    A null or repeated header is returned as bytes that are not a control: the same dead letter.
    """
    headers = [*found]
    control, signed, counter = (
        [content for name, content in headers if name == one]
        for one in (CONTROL_HEADER, SIGNATURE_HEADER, COUNTER_HEADER)
    )
    if not control:
        return None
    if len(control) > 1 or not control[0]:
        return _NO_CONTROL
    alone = (own[0] if len(own) == 1 else None for own in (signed, counter))
    return sealed(control[0], *alone)


def headers(control: str | bytes | None) -> list[tuple[str, bytes]]:
    """Return the headers of a record: those of a control record, or none."""
    if control is None:
        return []
    found = unsealed(control.encode() if isinstance(control, str) else control)
    signed = {SIGNATURE_HEADER: found.signature, COUNTER_HEADER: found.counter}
    return [
        (CONTROL_HEADER, found.body),
        *((name, own) for name, own in signed.items() if own is not None),
    ]


def clock_us() -> int:
    """Return this machine's time in microseconds since 1970."""
    return time.time_ns() // 1_000


class Signer:
    """Signs the control records of one source.

    The counter is the machine's clock, so that it also rises from one program to the next; two that
    sign for the same lane need clocks that agree.

    Args:
        rule: which control records the source believes.
        clock: the clock, in microseconds.
    """

    def __init__(self, rule: ControlRule, clock: Callable[[], int] = clock_us) -> None:
        self._secret, self._clock = rule.secret, clock
        self._last: dict[str, int] = {}

    def signed(self, lane: str, control: str | bytes) -> bytes:
        """Return a control record for a lane, with its signature if it needs one.

        Args:
            control: its JSON.
        """
        body = control.encode() if isinstance(control, str) else control
        if self._secret is None:
            return body
        counter = max(self._clock(), self._last.get(lane, -1) + 1)
        self._last[lane] = counter
        return sealed(body, signature(self._secret, lane, counter, body), b"%d" % counter)
