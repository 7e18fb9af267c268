"""S3 sink: the records of topics become files in a bucket, or in a folder, each record in one of them.

    name=orders-s3
    connector.class=io.confluent.connect.s3.S3SinkConnector
    topics=orders
    s3.bucket.name=lake
    s3.region=eu-central-1
    format.class=io.confluent.connect.s3.format.parquet.ParquetFormat
    flush.size=100000
    rotate.interval.ms=3600000
    partitioner.class=io.confluent.connect.storage.partitioner.HourlyPartitioner
    timestamp.extractor=Record
    locale=en-US
    timezone=UTC

Configurations of Confluent's connector are accepted. Spark writes the files, Arrow's client stores them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from connect_dagster.connectors.object_store.record_files import RecordFiles
from connect_dagster.connectors.object_store.s3_config import S3SinkConfig
from connect_dagster.errors import RetriableError
from connect_dagster.plugin.connector import Properties, SinkConnector, SinkTask
from connect_dagster.plugin.frames import SinkBatch
from connect_dagster.plugin.records import TopicPartition


class S3SinkTask(SinkTask):
    """Write the files of some partitions."""

    needs_headers = False
    at_driver = True
    _files: RecordFiles | None = None

    def start(self, config: Properties) -> None:
        """Look at the store: a bucket that does not exist, or a server that cannot be reached, fails the task now."""
        parsed = S3SinkConfig.parse(config)
        self._retry_backoff_ms = parsed.retry_backoff_ms
        self._files = RecordFiles.opened(
            self.context.spark, parsed.file_settings(), parsed.store(), self.context.errant_record_reporter
        )

    def put(self, batch: SinkBatch) -> None:
        """Take records in, and store the files that have ended."""
        try:
            if self._opened.put(batch):
                self.context.request_commit()
        except RetriableError:
            self.context.timeout(self._retry_backoff_ms)
            raise

    def pre_commit(self, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        """Return the offsets after records in stored files."""
        return self._opened.committable(offsets)

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        """Forget open files: their records are read again."""
        self._opened.close(partitions)

    def stop(self) -> None:
        """Delete the records of open files from the worker's disk."""
        if self._files is not None:
            self._files.stop()

    @property
    def _opened(self) -> RecordFiles:
        assert self._files is not None
        return self._files


class S3SinkConnector(SinkConnector):
    """A sink that writes files to S3, to a server with its API, or to a folder.

    Any number of tasks, each with the files of its partitions.
    """

    config_def = S3SinkConfig
    task_class = S3SinkTask
    java_class: ClassVar[str] = "io.confluent.connect.s3.S3SinkConnector"
    java_task_class: ClassVar[str] = "io.confluent.connect.s3.S3SinkTask"
    version: ClassVar[str] = "0.1.0"
