"""Confluent's form of a record: a zero byte, the schema's id in four bytes, then the payload."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

_MAGIC = b"\0"
PREFIX_SIZE = 5


def prefix(id: int) -> bytes:
    """Return the first bytes of records of a schema."""
    return _MAGIC + id.to_bytes(4, signed=True)


def schema_id(prefix: bytes) -> int:
    """Return the id out of what a record begins with."""
    return int.from_bytes(prefix[1:PREFIX_SIZE], signed=True)


def framed(id: int, payload: Column) -> Column:
    """Return payloads with their prefix; null stays null."""
    return F.concat(F.lit(bytearray(prefix(id))), payload)


def payload(record: Column) -> Column:
    """Return the bytes after the prefix."""
    return F.substring(record, PREFIX_SIZE + 1, 2**31 - 1)


def has_prefix(record: Column) -> Column:
    """Return whether a record has this form; null where there is none."""
    return record.startswith(F.lit(bytearray(_MAGIC))) & (F.octet_length(record) >= PREFIX_SIZE)


def begins_with(record: Column, prefix: bytes) -> Column:
    """Return whether a record has this prefix; null where there is none."""
    return record.startswith(F.lit(bytearray(prefix)))


def beginning(record: Column) -> Column:
    """Return the prefix of a record, no bytes where it has none; null where the record is null."""
    return F.when(has_prefix(record), F.substring(record, 1, PREFIX_SIZE)).when(record.isNotNull(), F.lit(bytearray()))
