"""Makes Arrow tables of polled records."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import pyarrow as pa

from connect_dagster.plugin.frame_columns import RECEIPT
from connect_dagster.plugin.frames import SourceTable
from connect_dagster.plugin.header_converter import HeaderConverter
from connect_dagster.plugin.lines import SourceBatch
from connect_dagster.plugin.records import Header, RecordMetadata, SourceRecord
from connect_dagster.plugin.schema import Schema
from connect_dagster.worker.record_values import arrow_array, column_of

Polled = Sequence[SourceBatch] | Sequence[SourceRecord] | SourceBatch | None

_RECEIVED = (RECEIPT, "topic", "partition", "offset", "timestamp")
_HEADERS = pa.list_(pa.field("element", pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])))


@dataclass(frozen=True, slots=True)
class ListedRecords(SourceTable):
    """A table of single records.

    Attributes:
        records: of the table, in its order, where they are kept for ``SourceTask.commit_record``: then each has its
            number in a column ``receipt``. Empty where they are not.
    """

    records: Sequence[SourceRecord] = ()

    def with_metadata(self, receipts: Iterable[pa.Table]) -> Iterator[tuple[SourceRecord, RecordMetadata | None]]:
        """Yield each record with its place in Kafka; ``None`` for one without a receipt.

        Args:
            receipts: as ``SourceTask.received`` gets them.
        """
        found: dict[int, RecordMetadata] = {}
        for table in receipts:
            columns = (
                table.column(name).to_pylist() for name in (RECEIPT, "topic", "partition", "offset", "timestamp")
            )
            for number, *place in zip(*columns, strict=True):
                found[number] = RecordMetadata(*place)
        for number, record in enumerate(self.records):
            yield record, found.get(number)


def batches_of(
    polled: Polled, headers: HeaderConverter, *, keep_records: bool = False, needs_topic: bool = False
) -> list[SourceBatch]:
    """Return the batches of a result of ``SourceTask.poll``; consecutive records of equal schemas share a table.

    Args:
        polled: the result.
        headers: encodes the headers of single records.
        keep_records: whether tables keep their records.
        needs_topic: whether converters encode the records of each topic in another way.

    Raises:
        DataError: a value that does not fit its schema.
    """
    if polled is None:
        return []
    if isinstance(polled, SourceBatch):
        return [polled]
    if all(isinstance(item, SourceBatch) for item in polled):
        return list(cast("Sequence[SourceBatch]", polled))
    records = cast("Sequence[SourceRecord]", polled)
    return [*tables_of(records, headers, keep_records=keep_records, needs_topic=needs_topic)]


def tables_of(
    records: Sequence[SourceRecord],
    headers: HeaderConverter,
    *,
    keep_records: bool = False,
    needs_topic: bool = False,
) -> list[ListedRecords]:
    """Return records as tables; consecutive ones of equal schemas share one.

    Args:
        records: in their order.
        headers: encodes their headers.
        keep_records: whether tables keep their records.
        needs_topic: whether a table of one topic has it as its attribute, as it is encoded by one plan then.

    Raises:
        DataError: a value that does not fit its schema.
    """
    tables = []
    for run in _runs(records):
        table = _source_table(run, headers, needs_topic)
        if keep_records:
            table = replace(table, table=table.table.append_column(RECEIPT, _numbers(len(run))), records=run)
        tables.append(table)
    return tables


def joined(tables: Sequence[ListedRecords]) -> ListedRecords:
    """Return tables of the same columns, topic and schemas as one, in their order."""
    first = tables[0]
    rows = pa.concat_tables([one.table for one in tables]).combine_chunks()
    records = [record for one in tables for record in one.records]
    if records:
        rows = rows.set_column(rows.schema.get_field_index(RECEIPT), RECEIPT, _numbers(len(records)))
    latest = {_identity(partition): (partition, offset) for one in tables for partition, offset in one.offsets}
    (partition, offset), *others = latest.values() or [(first.source_partition, first.source_offset)]
    return replace(
        first,
        table=rows,
        source_partition=partition,
        source_offset=offset,
        other_offsets=tuple(others),
        records=records,
    )


def halves(rows: pa.Table) -> list[pa.Table]:
    """Return the two halves of a table; none of a single row."""
    middle = rows.num_rows // 2
    if not middle:
        return []
    # Copied: Spark does not take slices of nested columns.
    return [rows.take(pa.array(part, pa.int64())) for part in (range(middle), range(middle, rows.num_rows))]


def _runs(records: Sequence[SourceRecord]) -> Iterator[Sequence[SourceRecord]]:
    """Yield consecutive records of equal schemas."""
    keys = {id(record.key_schema) for record in records}
    values = {id(record.value_schema) for record in records}
    if len(keys) <= 1 and len(values) <= 1:  # the usual case, and quick to find out
        yield from [records] if records else []
        return
    for _, run in itertools.groupby(records, key=_schemas):
        yield list(run)


def _schemas(record: SourceRecord) -> tuple[Schema | None, Schema | None]:
    return record.key_schema, record.value_schema


def _source_table(
    records: Sequence[SourceRecord],
    headers: HeaderConverter,
    needs_topic: bool,
) -> ListedRecords:
    key_schema, value_schema = _schemas(records[0])
    topics = [record.topic for record in records]
    topic = topics[0] if needs_topic and len(set(topics)) == 1 else None
    keys, partitions = [record.key for record in records], [record.partition for record in records]
    header_lists, timestamps = [record.headers for record in records], [record.timestamp for record in records]
    columns: dict[str, pa.Array] = {}
    if topic is None:
        columns["topic"] = arrow_array(topics, pa.string())
    if _any(partitions):
        columns["partition"] = arrow_array(partitions, pa.int32())
    # A null key with a schema is also written: converters put the schema into the record.
    if key_schema is not None or _any(keys):
        columns["key"] = column_of(keys, key_schema)
    columns["value"] = column_of([record.value for record in records], value_schema)
    if any(header_lists):
        columns["headers"] = pa.array(_headers(header_lists, headers), _HEADERS)
    if _any(timestamps):
        columns["timestamp"] = arrow_array(timestamps, pa.int64())
    (partition, offset), *others = _latest(records)
    return ListedRecords(
        table=pa.table(columns),
        source_partition=partition,
        source_offset=offset,
        other_offsets=tuple(others),
        topic=topic,
        value_schema=value_schema,
        key_schema=key_schema,
    )


def _numbers(count: int) -> pa.Array:
    return pa.array(range(count), pa.int32())


def _latest(records: Sequence[SourceRecord]) -> Iterable[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Return each source partition with the offset of its last record."""
    found: dict[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = {}
    last = records[0]
    for record in records:
        partition = record.source_partition
        # Nearly always the same object, of which equality would look at each item.
        if partition is not last.source_partition and partition != last.source_partition:
            found[_identity(last.source_partition)] = last.source_partition, last.source_offset
        last = record
    found[_identity(last.source_partition)] = last.source_partition, last.source_offset
    return found.values()


def _identity(partition: Mapping[str, Any]) -> str:
    return repr(sorted(partition.items()))


def _headers(found: list[tuple[Header, ...]], headers: HeaderConverter) -> list[Any]:
    return [[{"key": one.key, "value": headers.to_bytes(one.schema, one.value)} for one in each] for each in found]


def _any(values: list[Any]) -> bool:
    return set(map(type, values)) != {type(None)}
