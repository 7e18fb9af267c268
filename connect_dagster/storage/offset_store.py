"""The common parts of all stores of source offsets: their interface, and the search for an offset.

Java finds an offset by the bytes of its key, this project by its connector and partition: a key with another order of
the partition's names is found too, and keeps its bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from connect_dagster.protocol.offset_records import parse_key
from connect_dagster.storage.offset_json import key_bytes, parse_value, value_bytes

Partition = Mapping[str, Any]
Offset = Mapping[str, Any]


class SourceOffsets(Protocol):
    """The offsets of one source connector in any store; for one thread at a time."""

    def offset(self, partition: Partition) -> dict[str, Any] | None:
        """Return the offset of a partition, ``None`` without one. Raises DataError when it is not a JSON object."""

    def offsets(self, partitions: Iterable[Partition]) -> list[dict[str, Any] | None]:
        """Return the offsets of many partitions, in their order. Raises DataError, as :meth:`offset`."""
        return [self.offset(partition) for partition in partitions]

    def all(self) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """Return the partitions with their offsets.

        Raises:
            DataError: a stored offset is not a JSON object.
            ConnectError: they cannot be read now.
        """

    def save(self, offsets: Sequence[tuple[Partition, Offset | None]]) -> None:
        """Set offsets of partitions, ``None`` to delete one; they are durable when this returns.

        Raises:
            DataError: a value is none that offsets may hold.
            ConnectError: they could not be saved.
        """

    def close(self) -> None:
        """Close all that was opened for these offsets alone."""


class OffsetStore(Protocol):
    """Offsets of the source connectors of a worker; any thread may call it."""

    def open(self, connector: str, config: Mapping[str, str]) -> SourceOffsets:
        """Return the offsets of one connector, read up to their current end.

        Args:
            connector: its name.
            config: its configuration, which may name a separate place for its offsets.

        Raises:
            ConnectError: they cannot be read now.
        """

    def offset(self, connector: str, partition: Partition) -> dict[str, Any] | None:
        """Return the offset of a partition, ``None`` when there is none.

        Raises:
            DataError: the stored offset is not a JSON object.
        """

    def offsets_of(self, connector: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """Return the partitions of a connector with their offsets, in the order in which they were first written.

        Raises:
            DataError: a stored offset is not a JSON object.
            ConnectError: they cannot be read now.
        """

    def save(self, connector: str, changes: Sequence[tuple[Partition, Offset | None]]) -> None:
        """Set offsets of partitions of a connector, ``None`` to delete one; they are durable when this returns.

        Raises:
            DataError: a value is none that offsets may hold; nothing is saved.
            ConnectError: the offsets could not be saved.
        """


@dataclass(frozen=True, slots=True)
class ConnectorOffsets(SourceOffsets):
    """The offsets of one connector in a store that it shares with others (``SourceOffsets``)."""

    store: OffsetStore
    connector: str

    def offset(self, partition: Partition) -> dict[str, Any] | None:
        """Return the last written offset of a source partition, ``None`` without one."""
        return self.store.offset(self.connector, partition)

    def all(self) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """Return the partitions with their offsets."""
        return self.store.offsets_of(self.connector)

    def save(self, offsets: Sequence[tuple[Partition, Offset | None]]) -> None:
        """Set offsets of partitions."""
        self.store.save(self.connector, offsets)

    def close(self) -> None:
        """Do nothing: nothing was opened."""


class OffsetTable:
    """Stored keys and values, ``None`` for a deleted value; for one thread at a time."""

    def __init__(self) -> None:
        self.entries: dict[bytes, bytes | None] = {}
        # The keys of each partition, the latest at the end.
        self._keys: dict[str, list[bytes]] = {}

    def put(self, key: bytes, value: bytes | None) -> bool:
        """Set the value of a key; return whether the key belongs to an offset."""
        self.entries[key] = value
        parsed = parse_key(key)
        if parsed is None:
            return False
        same = self._keys.setdefault(_identity(*parsed), [])
        if key not in same:
            same.append(key)
        elif value is not None and same[-1] != key:
            same.remove(key)
            same.append(key)
        return True

    def keys(self, connector: str, partition: Partition) -> list[bytes]:
        """Return the stored keys of a partition, the latest at the end; without one, the key that Java would write.

        Raises:
            DataError: a value of the partition is none that offsets may hold.
        """
        return self._keys.get(_identity(connector, partition)) or [key_bytes(connector, partition)]

    def changes(self, connector: str, changes: Sequence[tuple[Partition, Offset | None]]) -> dict[bytes, bytes | None]:
        """Return the entries that set offsets of partitions, ``None`` to delete one. Raises as :meth:`change`."""
        found: dict[bytes, bytes | None] = {}
        for partition, offset in changes:
            found |= self.change(connector, partition, offset)
        return found

    def change(self, connector: str, partition: Partition, offset: Offset | None) -> dict[bytes, bytes | None]:
        """Return the entries that give a partition an offset, or none: then all its keys are deleted.

        Raises:
            DataError: a value is none that offsets may hold.
        """
        keys = self.keys(connector, partition)
        if offset is None:
            return dict.fromkeys(keys)
        return {(self._live(keys) or keys)[-1]: value_bytes(offset)}

    def offset(self, connector: str, partition: Partition) -> dict[str, Any] | None:
        """Return the latest offset of a partition. Raises DataError when it is not a JSON object."""
        value = None
        for key in self._live(self.keys(connector, partition)):
            value = self.entries[key]
        return None if value is None else parse_value(value)

    def offsets_of(self, connector: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """Return the partitions of a connector with their offsets. Raises DataError when one is not a JSON object."""
        places = [parse_key(same[0]) for same in self._keys.values()]
        mine = [place[1] for place in places if place is not None and place[0] == connector]
        found = [(partition, self.offset(connector, partition)) for partition in mine]
        return [(partition, offset) for partition, offset in found if offset is not None]

    def _live(self, keys: list[bytes]) -> list[bytes]:
        return [key for key in keys if self.entries.get(key) is not None]


def _identity(connector: str, partition: Partition) -> str:
    """Return the same text for equal partitions, whatever the order of their keys."""
    _, parsed = parse_key(key_bytes(connector, partition)) or (connector, {})
    return json.dumps([connector, parsed], sort_keys=True)
