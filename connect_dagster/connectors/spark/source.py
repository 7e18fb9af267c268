"""SparkSource: any stream that Spark reads becomes records, a struct of its columns for each row.

    name=orders
    connector.class=SparkSource
    format=delta
    options.path=/data/orders
    options.maxFilesPerTrigger=10
    topic=orders
    key.columns=id

A micro-batch is one frame; Spark notes it as done when the brokers have acknowledged it, so each row arrives at least
once. Where a format's offset holds the place (Delta, Iceberg, Kafka, rate-micro-batch, most Python data
sources), it is one of Connect's offsets, and any worker can go on from it. Others keep a list in the query's
checkpoint: they need ``checkpoint.location``, which every worker can reach.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from pydantic import model_validator
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.connectors.spark.source_query import LastingCheckpoint, Offered, OwnCheckpoint, SourceQuery
from connect_dagster.errors import ConfigError, ConnectError
from connect_dagster.expressions.spark_schemas import connect_schema
from connect_dagster.plugin.config import ConfigDef, Importance, at_least, config_key, non_empty_string
from connect_dagster.plugin.connector import ExactlyOnceSupport, Properties, SourceConnector, SourceTask
from connect_dagster.plugin.frames import SourceFrame
from connect_dagster.plugin.lines import SourceBatch
from connect_dagster.plugin.schema import Schema

BATCH, OFFSET = "batch", "offset"
OPTIONS = "options."
_WAIT_SECONDS = 0.5
_FILES = frozenset({"avro", "binaryfile", "csv", "json", "orc", "parquet", "text", "xml"})
_MOST_FILES, _MOST_BYTES = "maxFilesPerTrigger", "maxBytesPerTrigger"
# Spark would take a whole backlog of files for the first batch, and a batch is held in memory.
_DEFAULT_BYTES = str(8 << 20)
# The progress of these is a list, or a time, that only the checkpoint holds.
_REMEMBERED_IN_CHECKPOINT = _FILES | {"rate"}


class SparkSourceConfig(ConfigDef):
    """Configuration of the source; ``options.<name>`` goes to the format as ``<name>``."""

    format: str = config_key(
        "format",
        importance=Importance.HIGH,
        validator=non_empty_string,
        doc="What to read: a format of Spark, or one that spark.jars of the worker brings, such as delta.",
    )
    topic: str = config_key(
        "topic",
        importance=Importance.HIGH,
        validator=non_empty_string,
        doc="Topic that receives a record for each row.",
    )
    columns: str | None = config_key(
        "schema",
        default=None,
        doc="Columns and their types as in CREATE TABLE, for formats without a schema, such as files.",
    )
    key_columns: tuple[str, ...] = config_key(
        "key.columns",
        default=(),
        doc="Columns that make up the records' keys, as a struct. Left out, records have no key.",
    )
    timestamp_column: str | None = config_key(
        "timestamp.column", default=None, doc="Column with the time of a record. Left out, it is the time of sending."
    )
    checkpoint_location: str | None = config_key(
        "checkpoint.location",
        default=None,
        doc="Folder for Spark's checkpoint that outlives the task. Formats that read files need one; with it, "
        "Connect's offsets only show the progress.",
    )
    trigger_interval_ms: int = config_key(
        "trigger.interval.ms",
        default=100,
        importance=Importance.LOW,
        validator=at_least(0),
        doc="Shortest time between two micro-batches.",
    )

    @model_validator(mode="after")
    def _checkpoint_where_needed(self) -> Self:
        if self.format.lower() in _REMEMBERED_IN_CHECKPOINT and not self.checkpoint_location:
            raise ConfigError.invalid(
                "checkpoint.location",
                self.checkpoint_location,
                f"What the format {self.format} has read is only in its checkpoint, which must outlive the task",
            )
        return self


class SparkSourceTask(SourceTask):
    """Run one streaming query."""

    def start(self, config: Properties) -> None:
        """Start the query where the last one left off."""
        self._config = parsed = SparkSourceConfig.parse(config)
        self._partition = {"format": parsed.format, "topic": parsed.topic}
        self._sent: SourceFrame | None = None
        reader = self.context.spark.readStream.format(parsed.format).options(**_options(parsed))
        source = (reader.schema(parsed.columns) if parsed.columns else reader).load()
        self._columns = _Columns(source, parsed)
        self._query = SourceQuery(source, self._checkpoint(), parsed.trigger_interval_ms)

    def poll(self) -> SourceFrame | None:
        """Return the next micro-batch; the one after it follows when this one is delivered."""
        batch = self._query.next(_WAIT_SECONDS)
        if batch is None:
            return None
        self._sent = self._frame(batch)
        return self._sent

    def delivered(self, batch: SourceBatch) -> None:
        """Commit the micro-batch in Spark."""
        if batch is self._sent:
            self._query.delivered()

    def stop(self) -> None:
        """End the query."""
        if hasattr(self, "_query"):
            self._query.stop()

    def _checkpoint(self) -> OwnCheckpoint | LastingCheckpoint:
        if self._config.checkpoint_location:
            return LastingCheckpoint(self._config.checkpoint_location)
        stored = self.context.offsets.offset(self._partition)
        return OwnCheckpoint(None if stored is None else _place(stored))

    def _frame(self, batch: Offered) -> SourceFrame:
        offset: dict[str, Any] = {BATCH: batch.batch}
        if batch.end is not None:
            offset[OFFSET] = batch.end
        return SourceFrame(
            df=self._columns.of(batch.df),
            source_partition=self._partition,
            source_offset=offset,
            topic=self._config.topic,
            value_schema=self._columns.value_schema,
            key_schema=self._columns.key_schema,
        )


def _options(config: SparkSourceConfig) -> dict[str, str]:
    """Return the options of the format; of files with a bound for a batch, of which Spark takes one."""
    given = config.with_prefix(OPTIONS)
    is_bounded = config.format.lower() not in _FILES or {_MOST_FILES.lower(), _MOST_BYTES.lower()} & {
        name.lower() for name in given
    }
    return given if is_bounded else {_MOST_BYTES: _DEFAULT_BYTES, **given}


class SparkSourceConnector(SourceConnector):
    """A source that reads any format of Spark.

    One streaming query, one task.
    """

    config_def = SparkSourceConfig
    task_class = SparkSourceTask
    version = "0.1.0"

    def exactly_once_support(self, config: Properties) -> ExactlyOnceSupport:
        """Support it where Kafka has the position, not a folder (``checkpoint.location``)."""
        is_elsewhere = bool(config.get("checkpoint.location"))
        return ExactlyOnceSupport.UNSUPPORTED if is_elsewhere else ExactlyOnceSupport.SUPPORTED

    def alter_offsets(
        self, config: Properties, offsets: Sequence[tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]]
    ) -> bool:
        """Accept any offset of the format, where the offset decides."""
        if config.get("checkpoint.location"):
            raise ConnectError(
                f"The position of this connector is in {config['checkpoint.location']} (checkpoint.location), not "
                "in its offsets: delete that folder to have everything read again"
            )
        for _, offset in offsets:
            if offset is not None:
                _place(offset)
        return True


class _Columns:
    """The columns of a record, derived from the source's.

    Raises:
        ConfigError: a column that the configuration names is not there.
        DataError: a type that Connect has none for.
    """

    def __init__(self, source: DataFrame, config: SparkSourceConfig) -> None:
        self.value_schema = connect_schema(source.schema, False, "value")
        self.key_schema: Schema | None = None
        self._made = [_struct(source.columns, self.value_schema).alias("value")]
        if config.key_columns:
            _require(source, "key.columns", config.key_columns)
            self.key_schema = connect_schema(source.select(*map(_name, config.key_columns)).schema, False, "key")
            self._made.append(_struct(config.key_columns, self.key_schema).alias("key"))
        if config.timestamp_column:
            _require(source, "timestamp.column", [config.timestamp_column])
            time = F.col(_name(config.timestamp_column)).cast("timestamp")
            self._made.append(F.unix_millis(time).alias("timestamp"))

    def of(self, batch: DataFrame) -> DataFrame:
        """Return the records of a micro-batch."""
        return batch.select(*self._made)


def _struct(columns: Sequence[str], schema: Schema) -> Any:
    return F.struct(*map(_name, columns)).cast(schema.to_spark())


def _name(column: str) -> str:
    """Return a column's name quoted for Spark."""
    return f"`{column.replace('`', '``')}`"


def _require(source: DataFrame, key: str, columns: Sequence[str]) -> None:
    missing = [column for column in columns if column not in source.columns]
    if missing:
        there = ", ".join(source.columns)
        raise ConfigError.invalid(key, missing[0], f"The format has no such column; it has {there}")


def _place(offset: Mapping[str, Any]) -> str:
    place = offset.get(OFFSET)
    if not isinstance(place, str):
        raise ConnectError(f"Offset {dict(offset)} is not usable: '{OFFSET}' must be the text of Spark's offset")
    return place
