"""The mirrored records: their shapes, and the expected content of a topic.

Knows nothing of processes and brokers.
"""

import hashlib
import random
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, cast

from confluent_kafka import KafkaException, Message

Record = Mapping[str, Any]
"""Arguments of `Producer.produce`."""

_SEED = 1
_CUSTOMERS = 100_000
_NUMBER_BYTES = 12
_PADDINGS = 997
_STAMPED_BYTES = 200


@dataclass(frozen=True, slots=True)
class Layout:
    """The records of a topic, and how they are mirrored.

    Attributes:
        value_bytes: of each value.
        keyed: whether each record has a key and two headers.
        partitions: of the topic, filled in turn.
        tasks: that share them.
        share: of the records of a cell that a topic of this layout gets.
    """

    value_bytes: int
    keyed: bool = False
    partitions: int = 1
    tasks: int = 1
    share: float = 1.0


class Shape(Enum):
    """A kind of topic; the value is its name in the table."""

    PLAIN = "200 B"
    KEYED = "200 B, key, 2 headers"
    LARGE = "1 KB"
    PARTED = "200 B, 12 partitions"

    @property
    def layout(self) -> Layout:
        """Return the records."""
        return _LAYOUTS[self]


_LAYOUTS: Mapping[Shape, Layout] = {
    Shape.PLAIN: Layout(200),
    Shape.KEYED: Layout(200, keyed=True),
    Shape.LARGE: Layout(1_000, share=0.25),
    Shape.PARTED: Layout(200, partitions=12, tasks=2),
}


def records(layout: Layout, count: int) -> Iterator[Record]:
    """Yield records, the same ones each time; no value comes twice."""
    padding = random.Random(_SEED).randbytes(layout.value_bytes + _PADDINGS)
    length = layout.value_bytes - _NUMBER_BYTES
    for number in range(count):
        start = number % _PADDINGS
        record = {
            "value": b"%012d" % number + padding[start : start + length],
            "partition": number % layout.partitions,
        }
        yield {**record, **_key_and_headers(number)} if layout.keyed else record


def stamped(count: int, rate: float) -> Iterator[Record]:
    """Yield records of 200 bytes, each at the time to send it, with its number and this time.

    Args:
        count: how many.
        rate: records per second.
    """
    padding = random.Random(_SEED).randbytes(_STAMPED_BYTES)
    began = time.monotonic()
    for number in range(count):
        if (pause := began + number / rate - time.monotonic()) > 0:
            time.sleep(pause)
        stamp = b"%d %d " % (number, time.monotonic_ns())
        yield {"value": stamp + padding[len(stamp) :], "partition": 0}


def stamp_of(value: bytes) -> tuple[int, int]:
    """Return the number in a value of `stamped`, and its time in nanoseconds of the monotonic clock."""
    number, sent, _ = value.split(b" ", 2)
    return int(number), int(sent)


def digests(blocks: Iterable[Sequence[Message]], partitions: int) -> tuple[str, ...]:
    """Return a hash for each partition of its timestamps, keys, values and headers in their order."""
    hashes = [hashlib.sha256() for _ in range(partitions)]
    for block in blocks:
        for message in block:
            if (error := message.error()) is not None:
                raise KafkaException(error)
            hashes[message.partition() or 0].update(_content(message))
    return tuple(each.hexdigest() for each in hashes)


def _key_and_headers(number: int) -> Record:
    return {
        "key": b"customer-%06d" % (number % _CUSTOMERS),
        "headers": [("trace", b"%016x" % (number * 2_654_435_761)), ("shop", b"north")],
    }


def _content(message: Message) -> bytes:
    fields = [message.key(), message.value()]
    # A consumer's headers are a list, with bytes as they came.
    for name, value in cast("list[tuple[str, bytes | None]]", message.headers() or []):
        fields += [name.encode(), value]
    texts = [b"-" if field is None else b"%d:%b" % (len(field), field) for field in fields]
    return b"%d %b\n" % (message.timestamp()[1], b"".join(texts))
