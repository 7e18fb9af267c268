"""Source partitions and offsets of the three connectors (Java: ``MirrorUtils``, ``alterOffsets``). Pure.

Keys are in the order in which Java's worker writes them to the offset topic: a key is compared by its bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from connect_dagster.connectors.mirror.records import Checkpoint
from connect_dagster.errors import ConnectError, java_text
from connect_dagster.plugin.config.values import java_double
from connect_dagster.plugin.records import TopicPartition

CLUSTER, TOPIC, PARTITION = "cluster", "topic", "partition"
GROUP = "group"
SOURCE_ALIAS, TARGET_ALIAS = "sourceClusterAlias", "targetClusterAlias"
OFFSET = "offset"

NO_OFFSET: Mapping[str, int] = {OFFSET: 0}
"""The source offset of checkpoints and heartbeats, which no task continues from."""

SourcePartition = Mapping[str, Any]
SourceOffset = Mapping[str, Any]
Entries = Sequence[tuple[SourcePartition | None, SourceOffset | None]]
CheckValue = Callable[[SourcePartition, str], None]

_LARGEST_PARTITION, _LARGEST_OFFSET = (1 << 31) - 1, (1 << 63) - 1


def source_partition(source_alias: str, partition: TopicPartition) -> dict[str, Any]:
    """Return the source partition of mirrored records."""
    return {CLUSTER: source_alias, PARTITION: partition.partition, TOPIC: partition.topic}


def checkpoint_partition(checkpoint: Checkpoint) -> dict[str, Any]:
    """Return the source partition of checkpoints."""
    target = checkpoint.topic_partition
    return {PARTITION: target.partition, TOPIC: target.topic, GROUP: checkpoint.group}


def heartbeat_partition(source_alias: str, target_alias: str) -> dict[str, Any]:
    """Return the source partition of heartbeats."""
    return {SOURCE_ALIAS: source_alias, TARGET_ALIAS: target_alias}


def source_offset(last_delivered: int) -> dict[str, int]:
    """Return the source offset of mirrored records up to this one."""
    return {OFFSET: last_delivered}


def position(partition: TopicPartition, stored: SourceOffset | None) -> int | None:
    """Return the offset from which a task continues, ``None`` when its reset policy decides.

    Raises:
        ConnectError: the stored offset is not a number.
    """
    last_delivered = (stored or {}).get(OFFSET)
    if last_delivered is None:
        return None
    if not _is_integer(last_delivered):
        raise ConnectError(
            f"Stored offset {_text(stored)} of {partition} is not a position: '{OFFSET}' must be an integer"
        )
    return None if last_delivered < 0 else int(last_delivered) + 1


def check_source_offsets(entries: Entries) -> bool:
    """Check offsets of the source connector that a user sets (``alter_offsets``); return ``True``.

    A null offset is always allowed, so that anything can be removed.

    Raises:
        ConnectError: the first partition or offset that is wrong, with Java's text.
    """
    return _check(entries, ((CLUSTER, _check_string), (TOPIC, _check_string), (PARTITION, _check_number)), zero=False)


def check_checkpoint_offsets(entries: Entries) -> bool:
    """Check offsets of the checkpoint connector; see :func:`check_source_offsets`."""
    return _check(entries, ((GROUP, _check_string), (TOPIC, _check_string), (PARTITION, _check_number)), zero=True)


def check_heartbeat_offsets(entries: Entries) -> bool:
    """Check offsets of the heartbeat connector; see :func:`check_source_offsets`."""
    return _check(entries, ((SOURCE_ALIAS, _check_string), (TARGET_ALIAS, _check_string)), zero=True)


def _check(entries: Entries, keys: Sequence[tuple[str, CheckValue]], *, zero: bool) -> bool:
    for partition, offset in entries:
        if offset is None:
            continue
        if partition is None:
            raise ConnectError("Source partitions may not be null")
        for key, check in keys:
            if key not in partition:
                raise ConnectError(f"Source partition {_text(partition)} is missing the '{key}' key, which is required")
            check(partition, key)
        _check_offset(partition, offset, zero=zero)
    return True


def _check_string(partition: SourcePartition, key: str) -> None:
    if not isinstance(partition[key], str):
        raise _invalid(partition, key, "which must be a string")


def _check_number(partition: SourcePartition, key: str) -> None:
    number = partition[key]
    if not _is_integer(number) or number > _LARGEST_PARTITION:
        raise _invalid(partition, key, "which must be an integer")
    if number < 0:
        raise _invalid(partition, key, "which cannot be negative")


def _invalid(partition: SourcePartition, key: str, rule: str) -> ConnectError:
    value = _text(partition[key])
    return ConnectError(f"Source partition {_text(partition)} has an invalid value {value} for the '{key}' key, {rule}")


def _check_offset(partition: SourcePartition, offset: SourceOffset, *, zero: bool) -> None:
    place = f"Source offset {_text(offset)} for source partition {_text(partition)}"
    if OFFSET not in offset:
        raise ConnectError(f"{place} is missing the '{OFFSET}' key, which is required")
    value = offset[OFFSET]
    found = f"{place} has an invalid value {_text(value)} for the '{OFFSET}' key"
    if not _is_integer(value):
        raise ConnectError(f"{found}, which must be an integer")
    if zero and value != 0:
        raise ConnectError(f"{found}; the only accepted value is 0")
    if value < 0:
        raise ConnectError(f"{found}, which cannot be negative")


def _is_integer(value: Any) -> bool:
    """Return whether JSON makes an int or a long of it in Java."""
    return isinstance(value, int) and not isinstance(value, bool) and -_LARGEST_OFFSET - 1 <= value <= _LARGEST_OFFSET


def _text(value: Any) -> str:
    """Return a value of JSON as Java prints it."""
    match value:
        case Mapping():
            return "{" + ", ".join(f"{key}={_text(one)}" for key, one in value.items()) + "}"
        case list() | tuple():
            return "[" + ", ".join(map(_text, value)) + "]"
        case float():
            return java_double(value)
    return java_text(value)
