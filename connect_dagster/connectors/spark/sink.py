"""SparkSink: the records of a batch become rows of any format that Spark can write.

    name=orders-lake
    connector.class=SparkSink
    topics=orders
    format=delta
    options.path=/data/orders
    partition.by=day

With ``flush.size``, ``rotate.bytes`` or ``rotate.interval.ms`` batches do not matter: files have the asked size or
interval, below a folder of their topic, and each record is in one of them.

    name=orders-files
    connector.class=SparkSink
    topics=orders
    format=parquet
    options.path=/data
    flush.size=1000000
    rotate.interval.ms=3600000
    partitioner.class=hourly

A value that is a struct gives its fields as columns, any other one the column ``value``; schemaless values are JSON
text. Records without a value are left out: a table has no row for them. A batch is written whole before its offsets are
committed, so each record arrives at least once; with ``exactly.once`` a Delta table itself knows what it has, and files
that end by such options have names by which they are replaced.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self, cast

from pydantic import model_validator
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.connectors.object_store.options import RotationOptions, known_extractor, known_zone
from connect_dagster.connectors.object_store.partitioners import Extractor
from connect_dagster.connectors.object_store.record_files import RecordFiles
from connect_dagster.connectors.object_store.settings import FileSettings
from connect_dagster.connectors.object_store.store_urls import check_url, store_of
from connect_dagster.connectors.spark import rotated_files
from connect_dagster.errors import ConfigError
from connect_dagster.plugin.config import Importance, at_least, config_key, non_empty_string, one_of
from connect_dagster.plugin.connector import Properties, SinkConnector, SinkTask
from connect_dagster.plugin.frames import SinkBatch, SinkFrame
from connect_dagster.plugin.records import TopicPartition
from connect_dagster.plugin.schema import SchemaType

OPTIONS = "options."
_OVERWRITE = "overwrite"
# Not in the names of topics, nor is a slash in ids: no connector's transactions are taken for those of another one.
_BEFORE_ID = ":"
_PLACES = ("key", "topic", "partition", "offset", "timestamp")


def _check_record_columns(name: str, value: Sequence[str]) -> None:
    for one in value:
        if one not in _PLACES:
            raise ConfigError.invalid(name, one, f"String must be one of: {', '.join(_PLACES)}")


def _one_or_more(name: str, value: int | None) -> None:
    if value is not None:
        at_least(1)(name, value)


class SparkSinkConfig(RotationOptions):
    """Configuration of the sink; ``options.<name>`` goes to the format as ``<name>``."""

    format: str = config_key(
        "format",
        importance=Importance.HIGH,
        validator=non_empty_string,
        doc="What to write: a format of Spark, or one that spark.jars of the worker brings, such as delta.",
    )
    table_name: str | None = config_key(
        "table",
        default=None,
        importance=Importance.HIGH,
        doc="Table of a catalog to write to, created if missing. Without it options.path is the destination.",
    )
    path: str | None = config_key(
        "options.path",
        default=None,
        importance=Importance.HIGH,
        doc="Folder or URL to write to, for formats that take one.",
    )
    mode: str = config_key(
        "mode",
        default="append",
        validator=one_of("append", _OVERWRITE),
        doc="Whether a batch is appended to the data, or replaces it.",
    )
    partition_by: tuple[str, ...] = config_key(
        "partition.by", default=(), doc="Columns by which the format partitions what it stores."
    )
    record_columns: tuple[str, ...] = config_key(
        "record.columns",
        default=(),
        validator=_check_record_columns,
        doc="Parts of the record to add as columns: key, topic, partition, offset, timestamp.",
    )
    record_columns_prefix: str = config_key(
        "record.columns.prefix",
        default="kafka_",
        importance=Importance.LOW,
        doc="Prefix of the names of these columns.",
    )
    exactly_once: bool = config_key(
        "exactly.once",
        default=False,
        doc="For the format delta: keep the offset of each partition in the table, and continue from it.",
    )
    timestamp_extractor: str = config_key(
        "timestamp.extractor",
        default=Extractor.RECORD.value,
        validator=known_extractor,
        doc="Time of a record: Record (its timestamp in Kafka), RecordField (timestamp.field) or Wallclock.",
    )
    locale: str = config_key("locale", default="en", doc="Language of names of months and days in directories.")
    timezone: str = config_key(
        "timezone",
        default="UTC",
        validator=known_zone,
        doc="Time zone of directories and of rotate.schedule.interval.ms, such as Europe/Paris or +02:00.",
    )
    flush_size: int | None = config_key(
        "flush.size",
        default=None,
        importance=Importance.HIGH,
        validator=_one_or_more,
        doc="Records of a Kafka partition after which its files end. Left out, and without rotate.*, each batch is "
        "written by itself.",
    )

    @property
    def ends_files(self) -> bool:
        """Return whether options say where files end, in place of the batches."""
        return self.flush_size is not None or any(
            value > 0 for value in (self.rotate_interval_ms, self.rotate_schedule_interval_ms, self.rotate_bytes)
        )

    @model_validator(mode="after")
    def _somewhere_and_once_where_possible(self) -> Self:
        if not self.path and not self.table_name:
            reason = "Either table or options.path must say where to write"
            raise ConfigError.invalid("table", self.table_name, reason)
        if self.exactly_once and (self.format != "delta" or self.table_name or self.mode != "append"):
            reason = "Only appending to a Delta table by its path (format=delta, options.path) can be that"
            raise ConfigError.invalid("exactly.once", self.exactly_once, reason)
        if self.ends_files:
            self._check_files()
        return self

    def _check_files(self) -> None:
        """Refuse what files that end by options cannot be."""
        if self.format.lower() not in rotated_files.FORMATS:
            reason = f"Files that end by flush.size or rotate.* are one of: {', '.join(rotated_files.FORMATS)}"
            raise ConfigError.invalid("format", self.format, reason)
        unfit = {
            "table": (self.table_name, "Files that end by flush.size or rotate.* are in options.path"),
            "mode": (self.mode if self.mode == _OVERWRITE else None, "Such files are never replaced by later ones"),
            "exactly.once": (self.exactly_once or None, "Files with flush.size or rotate.* have each record once"),
            "partition.by": (self.partition_by or None, "Their directories come from partitioner.class"),
        }
        for name, (value, reason) in unfit.items():
            if value:
                raise ConfigError.invalid(name, value, reason)
        self.file_settings()
        check_url(self.path or "")

    def file_settings(self) -> FileSettings:
        """Return the settings of files that end by options. Raises ConfigError: one of them is wrong."""
        columns = {f"{self.record_columns_prefix}{part}": part for part in self.record_columns}
        options = {name: value for name, value in self.with_prefix(OPTIONS).items() if name != "path"}
        return rotated_files.file_settings(self, self.format, self.flush_size, options, columns)


class SparkSinkTask(SinkTask):
    """Write a batch with one Spark job for each schema in it, or for each partition in exactly-once writes.

    Files that end by options are written by one job for each schema in them.
    """

    needs_headers = False
    _files: RecordFiles | None = None

    def start(self, config: Properties) -> None:
        """Take the configuration."""
        self._config = SparkSinkConfig.parse(config)
        self._options = self._config.with_prefix(OPTIONS)
        self._schemaless = False
        if self._config.ends_files:
            settings, reporter = self._config.file_settings(), self.context.errant_record_reporter
            self._files = RecordFiles.opened(self.context.spark, settings, store_of(self._config.path or ""), reporter)
        self._delta = (
            DeltaTransactions(self.context.spark, self._options["path"], config["name"])
            if self._config.exactly_once
            else None
        )

    def open(self, partitions: Sequence[TopicPartition]) -> None:
        """Continue after the records that the table has of these partitions."""
        if self._delta is not None and (known := self._delta.ends(partitions, self.context.topic_ids)):
            self.context.offset(known)

    def put(self, batch: SinkBatch) -> None:
        """Write all records, or those whose files have ended."""
        if self._files is not None:
            if self._files.put(batch):
                self.context.request_commit()
            return
        frames = [frame for frame in batch if self._has_rows(frame)]
        if self._delta is not None:
            for part, options in self._delta.parts(frames):
                self._write(self._united(part), options)
        elif frames and self._config.mode == _OVERWRITE:  # in turn, each would take the place of the one before
            self._write(self._united(frames), {})
        else:
            for frame in frames:
                self._write(self._rows(frame), {})

    def pre_commit(self, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        """Return the offsets after records in complete files."""
        return offsets if self._files is None else self._files.committable(offsets)

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        """Forget open files: their records are read again."""
        if self._files is not None:
            self._files.close(partitions)

    def stop(self) -> None:
        """Delete the records of open files from the worker's disk."""
        if (files := self._files) is not None:
            files.stop()

    def _has_rows(self, frame: SinkFrame) -> bool:
        """Return whether to write a frame: tombstones are separate frames without columns."""
        if self._config.mode != _OVERWRITE and (frame.value_schema is not None or self._schemaless):
            return True
        if not self._rows(frame).count():  # of all rows: what the worker counts along the way, it counts once
            return False
        # Looked at no more: a frame without rows does no harm where others have the same column.
        self._schemaless = self._schemaless or frame.value_schema is None
        return True

    def _united(self, frames: Sequence[SinkFrame]) -> DataFrame:
        """Return the rows of frames with different schemas, with null for missing fields."""
        rows = map(self._rows, frames)
        return functools.reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), rows)

    def _write(self, rows: DataFrame, options: Mapping[str, str]) -> None:
        writer = rows.write.format(self._config.format).mode(self._config.mode).options(**self._options, **options)
        if self._config.partition_by:
            writer = writer.partitionBy(*self._config.partition_by)
        if self._config.table_name:
            writer.saveAsTable(self._config.table_name)
        else:
            writer.save()

    def _rows(self, frame: SinkFrame) -> DataFrame:
        schema = frame.value_schema
        is_struct = schema is not None and schema.type is SchemaType.STRUCT
        values = [F.col("value.*") if is_struct else F.col("value")]
        of_record = [
            _of_record(name).alias(f"{self._config.record_columns_prefix}{name}")
            for name in self._config.record_columns
        ]
        return frame.df.where(F.col("value").isNotNull()).select(*values, *of_record)


class SparkSinkConnector(SinkConnector):
    """A sink that writes any format of Spark.

    Any number of tasks, which write independently.
    """

    config_def = SparkSinkConfig
    task_class = SparkSinkTask
    version: ClassVar[str] = "0.1.0"


def _of_record(name: str) -> Column:
    return F.timestamp_millis(F.col(name)) if name == "timestamp" else F.col(name)


@dataclass(frozen=True, slots=True)
class Transaction:
    """The last write of an application to a Delta table (Delta: ``SetTransaction``).

    Attributes:
        app_id: the application: connector, topic and partition, and the topic's id where it is known.
        version: the last offset.
        updated: the time in milliseconds since 1970.
    """

    app_id: str
    version: int
    updated: int

    @classmethod
    def of_json(cls, text: str) -> Self:
        """Read Delta's own form."""
        found = json.loads(text)["txn"]
        return cls(found["appId"], found["version"], found.get("lastUpdated") or 0)

    def is_of(self, name: str) -> bool:
        """Return whether it is of this connector and partition, whatever the topic's id."""
        before, separator, topic_id = self.app_id.rpartition(_BEFORE_ID)
        return self.app_id == name or (separator != "" and before == name and "/" not in topic_id)


def next_transaction(name: str, topic_id: str | None, known: Iterable[Transaction]) -> tuple[str, int | None]:
    """Return the application id of a partition's next write, and the last offset that the table has of its topic.

    Args:
        name: connector, topic and partition.
        topic_id: of the topic; ``None`` when it is not known, and then the last write is continued.
        known: transactions of the table.
    """
    mine = {one.app_id: one for one in known if one.is_of(name)}
    if topic_id is None:
        last = max(mine.values(), key=lambda one: one.updated, default=None)
        return (name, None) if last is None else (last.app_id, last.version)
    app_id = f"{name}{_BEFORE_ID}{topic_id}"
    # Alone it is of an earlier version, which wrote no ids, or of a time when the id was not known.
    last = mine[name] if mine.keys() == {name} else mine.get(app_id)
    return app_id, None if last is None else last.version


class DeltaTransactions:
    """Delta's record of the partitions that one connector has written to a table: a transaction of each.

    A transaction's version is the last offset, and Delta leaves out a write whose version it has already; so a batch is
    written in a transaction for each partition. A topic that was deleted and created again has another id (KIP-516),
    so that its records are not left out.

    Args:
        spark: a session with Delta's jars.
        path: of the table.
        connector: whose name sets its transactions apart from others'.
    """

    def __init__(self, spark: SparkSession, path: str, connector: str) -> None:
        self._spark = spark
        self._path = path
        self._connector = connector
        self._first_ids: dict[TopicPartition, str] = {}
        self._app_ids: dict[TopicPartition, str] = {}

    def ends(self, partitions: Sequence[TopicPartition], topic_ids: Mapping[str, str]) -> dict[TopicPartition, int]:
        """Return the offset after the last record in the table, of the partitions that it has.

        Args:
            partitions: of the task; their next writes are of these topics.
            topic_ids: ids of topics, without those that the brokers do not have.
        """
        known = self._transactions()
        ends: dict[TopicPartition, int] = {}
        for place in partitions:
            topic_id, name = topic_ids.get(place.topic), f"{self._connector}/{place}"
            # What has no id is of the first topic that this task has seen.
            created_again = topic_id is not None and self._first_ids.setdefault(place, topic_id) != topic_id
            with_ids = (one for one in known if one.app_id != name)
            self._app_ids[place], last = next_transaction(name, topic_id, with_ids if created_again else known)
            if last is not None:
                ends[place] = last + 1
        return ends

    def _transactions(self) -> list[Transaction]:
        jvm = cast("Any", self._spark)._jvm
        table = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(cast("Any", self._spark)._jsparkSession, self._path)
        found = table.update(False, jvm.scala.Option.empty(), jvm.scala.Option.empty()).setTransactions()
        return [Transaction.of_json(found.apply(number).json()) for number in range(found.size())]

    def parts(self, frames: Sequence[SinkFrame]) -> Iterator[tuple[list[SinkFrame], dict[str, str]]]:
        """Yield the records of each partition as read, with the options that make their write one transaction.

        Of all frames: their offsets interleave, and Delta would leave out what comes after a higher one.
        """
        ends: dict[tuple[str, int], int] = {}
        for frame in frames:
            topic, partition, offset = map(frame.original_coordinate, ("topic", "partition", "offset"))
            for row in frame.df.groupBy(topic, partition).agg(F.max(offset)).collect():
                ends[row[0], row[1]] = max(row[2], ends.get((row[0], row[1]), -1))
        for (name, number), last in sorted(ends.items()):
            mine = [
                frame.where(
                    (frame.original_coordinate("topic") == name) & (frame.original_coordinate("partition") == number)
                )
                for frame in frames
            ]
            yield mine, {"txnAppId": self._app_ids[TopicPartition(name, number)], "txnVersion": str(last)}
