"""The structs of workers that join a group: metadata to the leader, assignments from it.

Layouts after Kafka Connect's ``ConnectProtocol`` (version 0) and ``IncrementalCooperativeConnectProtocol`` (versions 1
and 2, of equal layout). A struct keeps its version: workers of Kafka 3 put assignments of version 1 into metadata of
version 2. Pure encoding and decoding; the assignors decide on the work.

::

    metadata   0     version INT16 | url STRING | config offset INT64
               1, 2  … | allocation NULLABLE_BYTES (an assignment)
    assignment 0     version INT16 | error INT16 | leader STRING | leader url STRING | config offset INT64
                     | assigned ARRAY of (connector STRING, tasks ARRAY of INT32)
               1, 2  …, nullable | revoked, nullable ARRAY of the same | delay INT32
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeVar

from connect_dagster.java.hashes import hash_set_order
from connect_dagster.protocol import wire
from connect_dagster.protocol.states import TaskId
from connect_dagster.protocol.work import Work

T = TypeVar("T")

PROTOCOL_TYPE = "connect"
CONNECTOR_ITSELF = -1
"""The task number that stands for the connector object."""
NO_ERROR = 0
CONFIG_MISMATCH = 1
"""The leader could not read the config topic as far as another member: read it to its end and join again."""

_EAGER_VERSION = 0
_NEWEST_VERSION = 2


class ConnectProtocol(Enum):
    """The protocols that a group may agree on (Java: ``ConnectProtocolCompatibility``), the preferred one first.

    Attributes:
        setting: its value in ``connect.protocol``.
        wire_name: its name in the group's protocol list.
        version: of the structs that it uses.
    """

    SESSIONED = ("sessioned", "sessioned", 2)
    COMPATIBLE = ("compatible", "compatible", 1)
    EAGER = ("eager", "default", 0)

    def __init__(self, setting: str, wire_name: str, version: int) -> None:
        self.setting = setting
        self.wire_name = wire_name
        self.version = version

    @classmethod
    def of_setting(cls, setting: str) -> ConnectProtocol:
        """Return the protocol of ``connect.protocol``, in any case. Raises ValueError, which names the allowed ones."""
        return cls._found(setting, {each.setting: each for each in cls})

    @classmethod
    def of_wire_name(cls, wire_name: str) -> ConnectProtocol:
        """Return the protocol that the group agreed on. Raises ValueError for one that is not Connect's."""
        return cls._found(wire_name, {each.wire_name: each for each in cls})

    @property
    def offered(self) -> tuple[ConnectProtocol, ...]:
        """Return the protocols that this setting offers the group: this one, then the older ones."""
        return tuple(each for each in ConnectProtocol if each.version <= self.version)

    @staticmethod
    def _found(name: str, known: dict[str, ConnectProtocol]) -> ConnectProtocol:
        if name.lower() not in known:
            raise ValueError(f"{name!r} is none of Connect's protocols: {', '.join(known)}")
        return known[name.lower()]


@dataclass(frozen=True, slots=True)
class ConnectorTasks:
    """One connector's part of an assignment.

    Attributes:
        connector: its name.
        tasks: numbers of its tasks; ``CONNECTOR_ITSELF`` means the connector object.
    """

    connector: str
    tasks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Assignment:
    """The assignment of one member, from the leader (Java: ``ConnectProtocol.Assignment``, ``ExtendedAssignment``).

    Attributes:
        version: of the struct, 0 to 2.
        error: ``NO_ERROR`` or ``CONFIG_MISMATCH``.
        leader: the leader's member id.
        leader_url: the leader's REST URL.
        offset: in the config topic, up to which the leader had read.
        assigned: all work of the member in version 0, its additional work in later ones.
        revoked: the work to stop; ``None`` in version 0.
        delay: milliseconds after which the member has to join again; 0 for no further join, as in version 0.
    """

    version: int
    error: int
    leader: str
    leader_url: str
    offset: int
    assigned: tuple[ConnectorTasks, ...] | None
    revoked: tuple[ConnectorTasks, ...] | None = None
    delay: int = 0

    @classmethod
    def decode(cls, data: bytes) -> Assignment:
        """Read an assignment.

        Fields that the end of a version 1 or 2 lacks are null or 0, as in Java.

        Raises:
            MalformedBytes: the bytes are not an assignment of version 0 to 2; names the position.
        """
        return cls._read(wire.Reader(data))

    @classmethod
    def _read(cls, reader: wire.Reader) -> Assignment:
        version = _version(reader, "assignment")
        error, leader, leader_url, offset = reader.int16(), reader.string(), reader.string(), reader.int64()
        assigned: tuple[ConnectorTasks, ...] | None
        if version == _EAGER_VERSION:
            assigned, revoked, delay = reader.array(lambda: _entry(reader)), None, 0
        else:
            assigned = _if_there(reader, lambda: reader.nullable_array(lambda: _entry(reader)), None)
            revoked = _if_there(reader, lambda: reader.nullable_array(lambda: _entry(reader)), None)
            delay = _if_there(reader, reader.int32, 0)
        reader.finish()
        return cls(version, error, leader, leader_url, offset, assigned, revoked, delay)

    def encode(self) -> bytes:
        """Return the bytes. Raises ValueError for a version 0 with fields of later ones, or without an array."""
        head = (
            wire.int16(self.version)
            + wire.int16(self.error)
            + wire.string(self.leader)
            + wire.string(self.leader_url)
            + wire.int64(self.offset)
            + _entries(self.assigned)
        )
        if self.version != _EAGER_VERSION:
            return head + _entries(self.revoked) + wire.int32(self.delay)
        if self.assigned is None or self.revoked or self.delay:
            raise ValueError("an assignment of version 0 has an array of what is assigned, no revocations, no delay")
        return head


@dataclass(frozen=True, slots=True)
class WorkerMetadata:
    """The metadata of a member, for the leader (Java: ``ConnectProtocol.WorkerState``, ``ExtendedWorkerState``).

    Attributes:
        version: of the struct, 0 to 2.
        url: the member's REST URL.
        offset: in the config topic, up to which it has read; -1 for not at all.
        allocation: the work that it runs now; ``None`` in version 0, and while it has none.
    """

    version: int
    url: str
    offset: int
    allocation: Assignment | None = None

    @classmethod
    def decode(cls, data: bytes) -> WorkerMetadata:
        """Read a member's metadata.

        An allocation that the end of a version 1 or 2 lacks is null, as in Java.

        Raises:
            MalformedBytes: the bytes are not metadata of version 0 to 2; names the position.
        """
        reader = wire.Reader(data)
        version, url, offset = _version(reader, "metadata"), reader.string(), reader.int64()
        nested = None if version == _EAGER_VERSION else _if_there(reader, reader.nested, None)
        reader.finish()
        return cls(version, url, offset, None if nested is None else Assignment._read(nested))

    def encode(self) -> bytes:
        """Return the bytes. Raises ValueError for a version 0 with an allocation."""
        head = wire.int16(self.version) + wire.string(self.url) + wire.int64(self.offset)
        if self.version != _EAGER_VERSION:
            return head + wire.nullable_data(None if self.allocation is None else self.allocation.encode())
        if self.allocation is not None:
            raise ValueError("metadata of version 0 has no allocation")
        return head


def offers(
    setting: ConnectProtocol, url: str, offset: int, allocation: Assignment | None
) -> list[tuple[ConnectProtocol, WorkerMetadata]]:
    """Return the protocols that a member offers, the preferred one first, each with the metadata in its version.

    Args:
        setting: the worker's ``connect.protocol``.
        url: the worker's REST URL.
        offset: in the config topic, up to which it has read; -1 for not at all.
        allocation: the work that it runs now, of any version; ``None`` while it has none.
    """
    return [(each, _metadata(each.version, url, offset, allocation)) for each in setting.offered]


def _metadata(version: int, url: str, offset: int, allocation: Assignment | None) -> WorkerMetadata:
    if version == _EAGER_VERSION or allocation is None:
        return WorkerMetadata(version, url, offset)
    return WorkerMetadata(version, url, offset, replace(allocation, version=version))


def assigned_entries(work: Work) -> tuple[ConnectorTasks, ...]:
    """Return the entries of ``assigned``, in Java's order (``Assignment.asMap``): connectors as in a hash set."""
    return _by_connector(hash_set_order(work.connectors), work.tasks)


def revoked_entries(work: Work) -> tuple[ConnectorTasks, ...]:
    """Return the entries of ``revoked``, in Java's order (``ExtendedAssignment.revokedAsMap``): as given."""
    return _by_connector(dict.fromkeys(work.connectors), work.tasks)


def work_of(entries: Iterable[ConnectorTasks] | None) -> Work:
    """Return the connectors and tasks of an assignment's entries, in their order; none for null."""
    pairs = [(entry.connector, task) for entry in entries or () for task in entry.tasks]
    return Work(
        tuple(connector for connector, task in pairs if task == CONNECTOR_ITSELF),
        tuple(TaskId(connector, task) for connector, task in pairs if task != CONNECTOR_ITSELF),
    )


def _by_connector(connectors: Iterable[str], tasks: Iterable[TaskId]) -> tuple[ConnectorTasks, ...]:
    numbers: dict[str, list[int]] = {connector: [CONNECTOR_ITSELF] for connector in connectors}
    for task in tasks:
        numbers.setdefault(task.connector, []).append(task.task)
    return tuple(ConnectorTasks(connector, tuple(its)) for connector, its in numbers.items())


def _version(reader: wire.Reader, what: str) -> int:
    start, version = reader.position, reader.int16()
    if not 0 <= version <= _NEWEST_VERSION:
        raise reader.malformed(f"{what} of version {version}, where 0 to {_NEWEST_VERSION} are known", start)
    return version


def _if_there(reader: wire.Reader, read: Callable[[], T], otherwise: T) -> T:
    return otherwise if reader.exhausted else read()


def _entry(reader: wire.Reader) -> ConnectorTasks:
    return ConnectorTasks(reader.string(), reader.array(reader.int32))


def _entries(entries: tuple[ConnectorTasks, ...] | None) -> bytes:
    return wire.nullable_array(
        None
        if entries is None
        else [wire.string(entry.connector) + wire.array(map(wire.int32, entry.tasks)) for entry in entries]
    )
