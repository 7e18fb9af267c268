"""Records as librdkafka's C API takes them, built by NumPy over Arrow's buffers.

``rd_kafka_produce_batch`` takes an array of messages, which have neither headers nor a timestamp. Records with those go
to ``rd_kafka_produceva`` one by one, each as a list of fields. The values stay in Arrow's buffers in both cases.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from connect_dagster.kafka.epoch_timestamps import SUBSTITUTE

MESSAGE = np.dtype(
    {
        "names": ["err", "rkt", "partition", "payload", "len", "key", "key_len", "offset", "private"],
        "formats": ["i4", "u8", "i4", "u8", "u8", "u8", "u8", "i8", "u8"],
        "offsets": [0, 8, 16, 24, 32, 40, 48, 56, 64],
        "itemsize": 72,
    }
)
"""``rd_kafka_message_t`` on machines with addresses of 64 bits."""

FIELD = np.dtype(
    {
        "names": ["kind", "number", "long", "address", "length", "header_value", "header_length"],
        "formats": ["i4", "i4", "i8", "u8", "u8", "u8", "i8"],
        "offsets": [0, 8, 8, 8, 16, 16, 24],
        "itemsize": 72,
    }
)
"""``rd_kafka_vu_t``: a kind, and a union with the content."""

ANY_PARTITION = -1
"""The partition of a record that is left to librdkafka's partitioner."""

# The fields of each record in their order (``rd_kafka_vtype_t``); its headers follow.
_TOPIC, _PARTITION, _VALUE, _KEY, _NUMBER, _TIMESTAMP, _HEADER = 2, 3, 4, 5, 6, 8, 9
_FIELDS = (_TOPIC, _PARTITION, _VALUE, _KEY, _NUMBER, _TIMESTAMP)

_PLAIN = frozenset({"value", "key", "topic", "partition"})
_TEXTS = frozenset({pa.string(), pa.large_string()})
_BYTES = _TEXTS | {pa.binary(), pa.large_binary()}
_EPOCH = 0
_NOW = 0  # what librdkafka takes for a record without a timestamp
_NOTHING = ctypes.create_string_buffer(1)  # where an empty value is, as address 0 means null


def suits_columns(table: pa.Table) -> bool:
    """Return whether a table can be sent by columns: one of known types."""
    if "value" not in table.column_names:
        return False
    return all(_suits(name, table.column(name)) for name in table.column_names)


def has_epoch(table: pa.Table) -> bool:
    """Return whether a record has timestamp 0, which librdkafka takes for the current time."""
    return "timestamp" in table.column_names and bool(pc.any(pc.equal(table.column("timestamp"), _EPOCH)).as_py())


def _suits(name: str, column: pa.ChunkedArray) -> bool:
    if name in ("value", "key"):
        return column.type in _BYTES
    if name == "topic":
        return not column.null_count
    if name in _PLAIN or column.null_count == len(column):
        return True
    if name == "timestamp":
        return pa.types.is_int64(column.type) and not pc.any(pc.equal(column, SUBSTITUTE)).as_py()
    return name == "headers" and _have_names(column)


def _have_names(column: pa.ChunkedArray) -> bool:
    if not (pa.types.is_list(column.type) and pa.types.is_struct(column.type.value_type)):
        return False
    kinds = {field.name: field.type for field in column.type.value_type}
    if kinds.keys() != {"key", "value"} or kinds["key"] not in _TEXTS or kinds["value"] not in _BYTES:
        return False
    names = pc.struct_field(pc.list_flatten(column), "key")
    # librdkafka takes a name up to its first NUL.
    return not names.null_count and not pc.any(pc.match_substring(pc.unique(names), "\0")).as_py()


def are_plain(batch: pa.RecordBatch) -> bool:
    """Return whether the records have neither headers nor timestamps."""
    return all(name in _PLAIN or batch.column(name).null_count == batch.num_rows for name in batch.schema.names)


def messages(batch: pa.RecordBatch, first: int) -> npt.NDArray[np.void]:
    """Build librdkafka's messages over the buffers of a batch, which must outlive them.

    Args:
        batch: columns ``value`` and perhaps ``key`` and ``partition``.
        first: number of its first record.
    """
    made = np.zeros(batch.num_rows, MESSAGE)
    made["private"] = _privates(batch, first)
    made["payload"], made["len"] = _places(batch.column("value"))
    if "key" in batch.schema.names:
        made["key"], made["key_len"] = _places(batch.column("key"))
    made["partition"] = _partitions(batch)
    return made


@dataclass(frozen=True, slots=True)
class FieldLists:
    """The arguments of ``rd_kafka_produceva`` for each record of a batch.

    Attributes:
        fields: those of all records, one record after the other.
        first: of each record, the index of its first field.
        counts: of each record, the number of its fields.
        held: what the fields of headers point to; librdkafka copies it.
    """

    fields: npt.NDArray[np.void]
    first: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]
    held: tuple[object, ...]


def field_lists(batch: pa.RecordBatch, first: int, topics: npt.NDArray[np.uint64]) -> FieldLists:
    """Build the fields of records over the buffers of a batch, which must outlive them.

    Timestamp 0 becomes :data:`SUBSTITUTE`.

    Args:
        batch: columns ``value`` and perhaps ``key, partition, headers, timestamp``.
        first: number of its first record.
        topics: handle of each record's topic.
    """
    rows, names = batch.num_rows, batch.schema.names
    headers = batch.column("headers") if "headers" in names else pa.nulls(rows)
    having = headers.null_count < rows
    header_counts = pc.list_value_length(headers).fill_null(0).to_numpy() if having else np.zeros(rows, np.int64)
    counts = header_counts.astype(np.int64) + len(_FIELDS)
    starts = np.cumsum(counts) - counts
    fields = np.zeros(int(counts.sum()), FIELD)
    of = dict(zip(_FIELDS, (starts + place for place in range(len(_FIELDS))), strict=True))
    for kind, places in of.items():
        fields["kind"][places] = kind
    fields["address"][of[_TOPIC]] = topics
    fields["number"][of[_PARTITION]] = _partitions(batch)
    fields["address"][of[_VALUE]], fields["length"][of[_VALUE]] = _places(batch.column("value"))
    if "key" in names:
        fields["address"][of[_KEY]], fields["length"][of[_KEY]] = _places(batch.column("key"))
    fields["address"][of[_NUMBER]] = _privates(batch, first)
    if "timestamp" in names:
        stamps = batch.column("timestamp").cast(pa.int64())
        stamps = pc.if_else(pc.equal(stamps, _EPOCH), SUBSTITUTE, stamps).fill_null(_NOW)
        fields["long"][of[_TIMESTAMP]] = stamps.to_numpy(zero_copy_only=False)
    held = _add_headers(fields, headers, starts, header_counts) if having else ()
    return FieldLists(fields, starts, counts, held)


def _add_headers(
    fields: npt.NDArray[np.void], headers: pa.Array, starts: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]
) -> tuple[object, ...]:
    """Fill the fields of headers; return what they point to."""
    flat = pc.list_flatten(headers)
    named = pc.struct_field(flat, "key").dictionary_encode()
    texts = [name.encode() + b"\0" for name in named.dictionary.to_pylist()]
    joined = ctypes.create_string_buffer(b"".join(texts))
    begins = ctypes.addressof(joined) + np.cumsum([0, *map(len, texts[:-1])])
    before = np.cumsum(counts) - counts
    places = np.repeat(starts + len(_FIELDS) - before, counts) + np.arange(len(flat))
    values = pc.struct_field(flat, "value")
    fields["kind"][places] = _HEADER
    fields["address"][places] = begins[named.indices.to_numpy(zero_copy_only=False)]
    fields["header_value"][places], fields["header_length"][places] = _places(values)
    return joined, values


def _privates(batch: pa.RecordBatch, first: int) -> npt.NDArray[np.int64]:
    """Return what librdkafka keeps of each record for its report: its number and one, as 0 means none."""
    return np.arange(first + 1, first + 1 + batch.num_rows)


def _partitions(batch: pa.RecordBatch) -> npt.NDArray[np.int32] | int:
    if "partition" not in batch.schema.names:
        return ANY_PARTITION
    found: npt.NDArray[np.int32] = batch.column("partition").fill_null(ANY_PARTITION).to_numpy(zero_copy_only=False)
    return found


def _places(column: pa.Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the addresses and the lengths in bytes of a column's values; address 0 for null."""
    _, offsets, data = column.buffers()
    large = column.type in (pa.large_binary(), pa.large_string())
    ends = np.frombuffer(offsets, np.int64 if large else np.int32)[column.offset :][: len(column) + 1].astype(np.int64)
    addresses = ends[:-1] + ((data.address if data is not None else 0) or ctypes.addressof(_NOTHING))
    lengths = np.diff(ends)
    if column.null_count:
        nulls = column.is_null().to_numpy(zero_copy_only=False)
        addresses[nulls] = lengths[nulls] = 0
    return addresses, lengths
