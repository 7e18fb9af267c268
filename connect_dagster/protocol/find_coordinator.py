"""FindCoordinator of version 4: how a worker asks which broker leads its group (KIP-699), and the answer.

A packet is what follows TCP's header: its length, the header of its kind (request header 2, response header 1), the
message. Knows bytes and values; who asks whom, and when, is the business of the client library.

::

    request   length INT32 | api key INT16 = 10 | api version INT16 = 4 | correlation id INT32
              | client id NULLABLE_STRING | tags | key type INT8 | COMPACT_ARRAY of key COMPACT_STRING | tags
    response  length INT32 | correlation id INT32 | tags | throttle time INT32 | COMPACT_ARRAY of (key COMPACT_STRING
              | node INT32 | host COMPACT_STRING | port INT32 | error INT16 | error message COMPACT_NULLABLE_STRING
              | tags) | tags
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from connect_dagster.protocol import wire
from connect_dagster.protocol.wire import NO_TAGS

API_KEY = 10
API_VERSION = 4


class KeyType(IntEnum):
    """What the keys of a request name; version 4 knows these."""

    GROUP = 0
    TRANSACTION = 1


@dataclass(frozen=True, slots=True)
class FindCoordinatorRequest:
    """The question.

    Attributes:
        keys: ids of groups, or transactional ids.
        key_type: which of both.
        client_id: of the client that asks; may be null.
        correlation_id: a number that the answer repeats.
        header_tags: the header's tag buffer as it is.
        tags: the message's tag buffer as it is.
    """

    keys: tuple[str, ...]
    key_type: KeyType = KeyType.GROUP
    client_id: str | None = None
    correlation_id: int = 0
    header_tags: bytes = NO_TAGS
    tags: bytes = NO_TAGS

    @classmethod
    def decode(cls, packet: bytes) -> FindCoordinatorRequest:
        """Read a packet, its length included.

        Raises:
            MalformedBytes: it is no FindCoordinator request of version 4; says where.
        """
        reader = _sized(packet)
        _expect(reader, API_KEY, "api key")
        _expect(reader, API_VERSION, "FindCoordinator version")
        correlation_id, client_id, header_tags = reader.int32(), reader.nullable_string(), reader.tags()
        key_type = _key_type(reader)
        keys, tags = reader.compact_array(reader.compact_string), reader.tags()
        reader.finish()
        return cls(keys, key_type, client_id, correlation_id, header_tags, tags)

    def encode(self) -> bytes:
        """The packet, its length included."""
        return wire.data(
            wire.int16(API_KEY)
            + wire.int16(API_VERSION)
            + wire.int32(self.correlation_id)
            + wire.nullable_string(self.client_id)
            + self.header_tags
            + wire.int8(self.key_type)
            + wire.compact_array(map(wire.compact_string, self.keys))
            + self.tags
        )


@dataclass(frozen=True, slots=True)
class Coordinator:
    """The answer for one key.

    Attributes:
        key: as it was asked for.
        node: the broker's id, -1 with an error.
        host: where it listens.
        port: of it.
        error: Kafka's error code, 0 for none.
        error_message: brokers send an empty text where there is no error.
        tags: the tag buffer as it is.
    """

    key: str
    node: int
    host: str
    port: int
    error: int = 0
    error_message: str | None = ""
    tags: bytes = NO_TAGS

    @classmethod
    def read(cls, reader: wire.Reader) -> Coordinator:
        """Read what comes next. Raises MalformedBytes; says where."""
        key, node, host, port = reader.compact_string(), reader.int32(), reader.compact_string(), reader.int32()
        return cls(key, node, host, port, reader.int16(), reader.compact_nullable_string(), reader.tags())

    def encode(self) -> bytes:
        """Its bytes within the response."""
        return (
            wire.compact_string(self.key)
            + wire.int32(self.node)
            + wire.compact_string(self.host)
            + wire.int32(self.port)
            + wire.int16(self.error)
            + wire.compact_nullable_string(self.error_message)
            + self.tags
        )


@dataclass(frozen=True, slots=True)
class FindCoordinatorResponse:
    """The answer.

    Attributes:
        coordinators: one for each key, in the order asked for.
        throttle_time: milliseconds for which the broker holds the client back.
        correlation_id: the request's.
        header_tags: the header's tag buffer as it is.
        tags: the message's tag buffer as it is.
    """

    coordinators: tuple[Coordinator, ...]
    throttle_time: int = 0
    correlation_id: int = 0
    header_tags: bytes = NO_TAGS
    tags: bytes = NO_TAGS

    @classmethod
    def decode(cls, packet: bytes) -> FindCoordinatorResponse:
        """Read a packet, its length included.

        Raises:
            MalformedBytes: it is no FindCoordinator response of version 4; says where.
        """
        reader = _sized(packet)
        correlation_id, header_tags, throttle_time = reader.int32(), reader.tags(), reader.int32()
        coordinators, tags = reader.compact_array(lambda: Coordinator.read(reader)), reader.tags()
        reader.finish()
        return cls(coordinators, throttle_time, correlation_id, header_tags, tags)

    def encode(self) -> bytes:
        """The packet, its length included."""
        return wire.data(
            wire.int32(self.correlation_id)
            + self.header_tags
            + wire.int32(self.throttle_time)
            + wire.compact_array(each.encode() for each in self.coordinators)
            + self.tags
        )


def _sized(packet: bytes) -> wire.Reader:
    """A reader of what follows the length, which has to be that of the rest."""
    reader = wire.Reader(packet)
    length, rest = reader.int32(), len(packet) - reader.position
    if length != rest:
        raise reader.malformed(f"a packet of length {length}, but {rest} bytes follow", 0)
    return reader


def _expect(reader: wire.Reader, wanted: int, what: str) -> None:
    start, found = reader.position, reader.int16()
    if found != wanted:
        raise reader.malformed(f"{what} {found}, where {wanted} is expected", start)


def _key_type(reader: wire.Reader) -> KeyType:
    start, number = reader.position, reader.int8()
    try:
        return KeyType(number)
    except ValueError:
        raise reader.malformed(f"key type {number}, where 0 (group) and 1 (transaction) are known", start) from None
