"""Encodes single sink records with a connector's converters, in the direction of a source."""

from __future__ import annotations

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.plugin.converter import Converter
from connect_dagster.plugin.header_converter import HeaderConverter
from connect_dagster.plugin.records import SinkRecord, SourceRecord
from connect_dagster.plugin.schema import Schema
from connect_dagster.worker.errors.raw_record import RawRecord
from connect_dagster.worker.record_frames import to_frames


class RecordEncoder:
    """The reverse converters of one sink task, for records that are not in the batch as they were read.

    Args:
        spark: the worker's session.
        key_converter: of the connector.
        value_converter: of the connector.
        header_converter: of the connector.
    """

    def __init__(
        self,
        spark: SparkSession,
        key_converter: Converter,
        value_converter: Converter,
        header_converter: HeaderConverter,
    ) -> None:
        self._spark = spark
        self._converters = {"key": key_converter, "value": value_converter}
        self._header_converter = header_converter

    def raw_record(self, record: SinkRecord) -> RawRecord:
        """Return the record in bytes, without key and value where a converter cannot write them.

        Raises:
            DataError: a value does not fit its schema, or a converter cannot write the schema.
        """
        (frame,) = to_frames(self._spark, [_as_source_record(record)], self._header_converter)
        schemas = {"key": frame.key_schema, "value": frame.value_schema}
        sides = {name: schema for name, schema in schemas.items() if frame.has(name)}
        encoded = {name: self._encoded(name, schema, record.topic) for name, schema in sides.items()}
        errors = [
            error
            for name, schema in sides.items()
            if (error := self._converters[name].encode_errors(schema, F.col(name))) is not None
        ]
        if errors:
            well = F.coalesce(*errors).isNull()
            encoded = {name: F.when(well, column) for name, column in encoded.items()}
        columns = [column.alias(name) for name, column in encoded.items()]
        (row,) = frame.df.select(*columns).toArrow().to_pylist()
        return RawRecord(
            record.topic,
            row.get("key"),
            row.get("value"),
            partition=record.partition,
            offset=record.offset,
            timestamp=record.timestamp,
            timestamp_type=None if record.timestamp is None else "CreateTime",
            headers=tuple((one.key, self._header_converter.to_bytes(one.schema, one.value)) for one in record.headers),
        )

    def _encoded(self, name: str, schema: Schema | None, topic: str) -> Column:
        converter, column = self._converters[name], F.col(name)
        return (
            converter.encode_for(topic, schema, column) if converter.needs_topic else converter.encode(schema, column)
        )


def _as_source_record(record: SinkRecord) -> SourceRecord:
    return SourceRecord(
        {}, {}, record.topic, record.value, record.value_schema, record.key, record.key_schema, record.partition
    )
