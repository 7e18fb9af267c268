"""Makes Arrow tables of polled records.

The values of single records are checked against their schemas before (Java: ``ConnectSchema.validateValue`` and
``Struct.validate``, with the texts of their errors).
"""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from json import JSONEncoder
from json.encoder import c_make_encoder, encode_basestring  # type: ignore[attr-defined]  # not in its stubs
from typing import Any, cast

import pyarrow as pa
from pyspark.sql import types as spark_types
from pyspark.sql.pandas.types import to_arrow_schema

from connect_dagster.errors import DataError
from connect_dagster.plugin.frame_columns import RECEIPT
from connect_dagster.plugin.frames import SourceTable
from connect_dagster.plugin.header_converter import HeaderConverter
from connect_dagster.plugin.lines import SourceBatch
from connect_dagster.plugin.records import Header, RecordMetadata, SourceRecord
from connect_dagster.plugin.schema import DATE, DECIMAL, TIME, TIMESTAMP, Schema, SchemaType

Polled = Sequence[SourceBatch] | Sequence[SourceRecord] | SourceBatch | None

_RECEIVED = (RECEIPT, "topic", "partition", "offset", "timestamp")
_ENCODER = JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
# One for all values, where json.dumps makes two for each.
_JSON_PARTS = c_make_encoder(None, _ENCODER.default, encode_basestring, None, ":", ",", False, False, False)
_HEADERS = spark_types.ArrayType(
    spark_types.StructType(
        [
            spark_types.StructField("key", spark_types.StringType()),
            spark_types.StructField("value", spark_types.BinaryType()),
        ]
    )
)


@dataclass(frozen=True, slots=True)
class NumberedRecords(SourceTable):
    """A table of records that are kept, each with its number in a column ``receipt``, for ``SourceTask.commit_record``.

    Attributes:
        records: of the table, in its order.
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


def batches_of(polled: Polled, headers: HeaderConverter, *, keep_records: bool = False) -> list[SourceBatch]:
    """Return the batches of a result of ``SourceTask.poll``; consecutive records of equal schemas share a table.

    Args:
        polled: the result.
        headers: encodes the headers of single records.
        keep_records: whether to make a ``NumberedRecords`` of single records.

    Raises:
        DataError: a value that does not fit its schema.
    """
    if polled is None:
        return []
    if isinstance(polled, SourceBatch):
        return [polled]
    if all(isinstance(item, SourceBatch) for item in polled):
        return list(cast("Sequence[SourceBatch]", polled))
    return [*tables_of(cast("Sequence[SourceRecord]", polled), headers, keep_records=keep_records)]


def tables_of(
    records: Sequence[SourceRecord], headers: HeaderConverter, *, keep_records: bool = False
) -> list[SourceTable]:
    """Return records as tables; consecutive ones of equal schemas share one.

    Args:
        records: in their order.
        headers: encodes their headers.
        keep_records: whether to make a ``NumberedRecords``.

    Raises:
        DataError: a value that does not fit its schema.
    """
    runs = itertools.groupby(records, key=lambda record: (record.key_schema, record.value_schema))
    tables = ((run := list(of_schemas), _source_table(run, headers, *schemas)) for schemas, of_schemas in runs)
    return [_numbered(run, table) if keep_records else table for run, table in tables]


def halves(rows: pa.Table) -> list[pa.Table]:
    """Return the two halves of a table; none of a single row."""
    middle = rows.num_rows // 2
    if not middle:
        return []
    # Copied: Spark does not take slices of nested columns.
    return [rows.take(pa.array(part, pa.int64())) for part in (range(middle), range(middle, rows.num_rows))]


def _source_table(
    records: list[SourceRecord], headers: HeaderConverter, key_schema: Schema | None, value_schema: Schema | None
) -> SourceTable:
    fields: dict[str, tuple[spark_types.DataType, list[Any]]] = {
        "topic": (spark_types.StringType(), [record.topic for record in records]),
        "partition": (spark_types.IntegerType(), [record.partition for record in records]),
        "key": (_type(key_schema), _values([record.key for record in records], key_schema)),
        "value": (_type(value_schema), _values([record.value for record in records], value_schema)),
        "headers": (_HEADERS, _headers([record.headers for record in records], headers)),
        "timestamp": (spark_types.LongType(), [record.timestamp for record in records]),
    }
    # A null key with a schema is also written: converters put the schema into the record.
    always = {"topic", "value"} | ({"key"} if key_schema is not None else set())
    kept = {name: column for name, column in fields.items() if name in always or _any(column[1])}
    (partition, offset), *others = _latest(records)
    return SourceTable(
        table=_table(kept),
        source_partition=partition,
        source_offset=offset,
        other_offsets=tuple(others),
        value_schema=value_schema,
        key_schema=key_schema,
    )


def _numbered(records: Sequence[SourceRecord], table: SourceTable) -> NumberedRecords:
    numbered = table.table.append_column(RECEIPT, pa.array(range(len(records)), pa.int32()))
    return NumberedRecords(
        numbered,
        table.source_partition,
        table.source_offset,
        table.other_offsets,
        table.topic,
        table.value_schema,
        table.key_schema,
        records,
    )


def _latest(records: list[SourceRecord]) -> Iterable[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Return each source partition with the offset of its last record."""
    found: dict[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = {}
    partition, key = records[0].source_partition, ""
    for record in records:
        if not key or record.source_partition != partition:
            partition = record.source_partition
            key = repr(sorted(partition.items()))
        found[key] = partition, record.source_offset
    return found.values()


def _headers(found: list[tuple[Header, ...]], headers: HeaderConverter) -> list[Any]:
    if not any(found):
        return []
    return [[{"key": one.key, "value": headers.to_bytes(one.schema, one.value)} for one in each] for each in found]


def _any(values: list[Any]) -> bool:
    return any(value is not None and value != [] for value in values)


def _table(columns: dict[str, tuple[spark_types.DataType, list[Any]]]) -> pa.Table:
    schema = spark_types.StructType([spark_types.StructField(name, type_) for name, (type_, _) in columns.items()])
    arrow = to_arrow_schema(schema)
    try:
        return pa.Table.from_pydict({name: values for name, (_, values) in columns.items()}, schema=arrow)
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        raise DataError(f"A record does not fit its schema: {error}") from error


def _type(schema: Schema | None) -> spark_types.DataType:
    return spark_types.StringType() if schema is None else schema.to_spark()


def _values(values: list[Any], schema: Schema | None) -> list[Any]:
    if schema is not None:
        return [fitting(value, schema) for value in values]
    return [None if value is None else _json(value) for value in values]


def _json(value: Any) -> str:
    try:
        return "".join(_JSON_PARTS(value, 0))
    except (TypeError, ValueError, RecursionError) as error:
        raise DataError(f"A value without schema must be what JSON knows: {error}: {value!r}") from error


def fitting(value: Any, schema: Schema, field: str | None = None) -> Any:
    """Return the value with the defaults of its schema for missing parts.

    Args:
        value: in Python's terms.
        schema: of the value.
        field: name of its field in the struct, for the error.

    Raises:
        DataError: the value does not fit the schema.
    """
    if value is None:
        return _absent(schema, field)
    accepts = _LOGICAL.get(schema.name) or _PHYSICAL[schema.type]
    if not accepts(value):
        at = f' for field: "{field}"' if field is not None else ""
        raise DataError(
            f"Invalid Python object for schema type {_shown(schema)}: {type(value).__name__}{at}: {value!r}"
        )
    match schema.type:
        case SchemaType.STRUCT:
            return _struct(value, schema)
        case SchemaType.ARRAY:
            return [fitting(item, schema.item, field) for item in value]
        case SchemaType.MAP:
            pairs = value.items()
            return [(fitting(key, schema.key, field), fitting(item, schema.item, field)) for key, item in pairs]
        case _:
            return value


def _absent(schema: Schema, field: str | None) -> Any:
    if schema.optional:
        return None
    if schema.default is not None:
        return schema.default
    what = f'required field: "{field}", schema type: {_shown(schema)}' if field is not None else "required schema"
    raise DataError(f"Invalid value: null used for {what}")


def _struct(value: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
    names = [one.name for one in schema.fields]
    for name in value:
        if name not in names:
            raise DataError(f"{name} is not a valid field name; the schema has {', '.join(names)}")
    return {one.name: fitting(value.get(one.name), one.schema, one.name) for one in schema.fields}


def _shown(schema: Schema) -> str:
    return schema.type.name if schema.name is None else f"{schema.type.name} ({schema.name})"


def _integer(bits: int) -> Callable[[Any], bool]:
    most = 2 ** (bits - 1)
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and -most <= value < most


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_PHYSICAL: Mapping[SchemaType, Callable[[Any], bool]] = {
    SchemaType.INT8: _integer(8),
    SchemaType.INT16: _integer(16),
    SchemaType.INT32: _integer(32),
    SchemaType.INT64: _integer(64),
    SchemaType.FLOAT32: _number,
    SchemaType.FLOAT64: _number,
    SchemaType.BOOLEAN: lambda value: isinstance(value, bool),
    SchemaType.STRING: lambda value: isinstance(value, str),
    SchemaType.BYTES: lambda value: isinstance(value, bytes | bytearray | memoryview),
    SchemaType.ARRAY: lambda value: isinstance(value, list | tuple),
    SchemaType.MAP: lambda value: isinstance(value, Mapping),
    SchemaType.STRUCT: lambda value: isinstance(value, Mapping),
}
_LOGICAL: Mapping[str | None, Callable[[Any], bool]] = {
    DECIMAL: lambda value: isinstance(value, Decimal),
    DATE: lambda value: isinstance(value, datetime.date) and not isinstance(value, datetime.datetime),
    TIME: _integer(32),
    TIMESTAMP: lambda value: isinstance(value, datetime.datetime),
}
