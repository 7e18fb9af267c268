"""Records of several topics, and of several schemas, through a converter that encodes by topic."""

import uuid

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import to_arrow_type

from connect_dagster.converters.avro.converter import AvroConverter
from connect_dagster.converters.plain.simple_header_converter import SimpleHeaderConverter
from connect_dagster.plugin.frames import SourceTable
from connect_dagster.plugin.schema import STRING_SCHEMA, Schema, SchemaField, SchemaType
from connect_dagster.transforms.debezium.extract_new_record_state import ExtractNewRecordState
from connect_dagster.worker.errors.policy import ErrorPolicy
from connect_dagster.worker.source.batches import SourceBatches
from connect_dagster.worker.source.pipeline import SourcePipeline
from connect_dagster.worker.transforms import TransformationStage
from tests.unit.connectors.mysql.stream.test_change_tables import DELETE, INSERT, MAP, piece, tables

PERSON = Schema(SchemaType.STRUCT, name="Person", fields=(SchemaField("name", STRING_SCHEMA),))


def avro(registry: str, *, is_key: bool) -> AvroConverter:
    made = AvroConverter()
    made.configure({"schema.registry.url": registry}, is_key=is_key)
    return made


def encoded(spark: SparkSession, registry: str, batch: SourceTable, *transforms: ExtractNewRecordState) -> pa.Table:
    stages = [TransformationStage(str(number), one) for number, one in enumerate(transforms)]
    pipeline = SourcePipeline(
        stages, avro(registry, is_key=True), avro(registry, is_key=False), SimpleHeaderConverter()
    )
    batches = SourceBatches(spark, pipeline, ErrorPolicy())
    return batches.encoded(batches.planned(batch)).table


def test_topics_in_a_column(spark: SparkSession, schema_registry: str) -> None:
    names = [f"{uuid.uuid4().hex}-{end}" for end in "ab"]
    values = pa.array([{"name": "kim"}, {"name": "lee"}], to_arrow_type(PERSON.to_spark()))
    rows = pa.table({"topic": names, "key": values, "value": values})
    table = encoded(spark, schema_registry, SourceTable(rows, {}, {}, value_schema=PERSON, key_schema=PERSON))
    found = {row["topic"]: (row["key"][5:], row["value"][5:]) for row in table.to_pylist()}
    assert found == {names[0]: (b"\x06kim", b"\x06kim"), names[1]: (b"\x06lee", b"\x06lee")}


def test_rows_and_tombstones(spark: SparkSession, schema_registry: str) -> None:
    (changes,) = tables(piece(MAP, INSERT, DELETE))
    unwrap = ExtractNewRecordState()
    unwrap.configure({"drop.tombstones": "false"})
    table = encoded(spark, schema_registry, changes.batch(), unwrap)
    assert [(row["key"][5:], (row["value"] or b"")[5:]) for row in table.to_pylist()] == [
        (b"\x02", "\x02\x02\x06별".encode()),
        (b"\x04", b"\x04\x00"),
        (b"\x02", b""),
    ]
