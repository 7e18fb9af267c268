"""Connector and task, the two halves of a connector (Java: ``org.apache.kafka.connect.connector``).

A connector describes: it checks a configuration and splits the work. A task moves records. All calls to one task
come from one thread at a time; nothing is called after ``stop``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Any, ClassVar, Protocol

from pyspark.sql import Column, SparkSession

from connect_dagster.plugin.config import ConfigDef
from connect_dagster.plugin.frames import SinkBatch, SinkFrame, SourceFrame
from connect_dagster.plugin.records import SinkRecord, SourceRecord, TopicPartition

Properties = Mapping[str, str]


class ConnectorContext(Protocol):
    """Requests of a connector to its worker."""

    def request_task_reconfiguration(self) -> None:
        """Make the worker call ``task_configs`` again; tasks restart only if the configurations changed."""

    def raise_error(self, error: Exception) -> None:
        """Fail the connector from one of its threads."""


class OffsetReader(Protocol):
    """Reads the committed offsets of a source connector (Java: ``OffsetStorageReader``)."""

    def offset(self, partition: Mapping[str, Any]) -> dict[str, Any] | None:
        """Last committed offset of a source partition, ``None`` when there is none."""


class SourceTaskContext(Protocol):
    """Services of the worker for a source task."""

    @property
    def spark(self) -> SparkSession:
        """The worker's Spark session; set no global option on it."""

    @property
    def offsets(self) -> OffsetReader:
        """Committed offsets of the connector."""


class ErrantRecordReporter(Protocol):
    """Takes records that a sink task could not write (KIP-610): to the log, to the dead letter queue.

    Their offsets are committed once they are there. With ``errors.tolerance=none`` the task fails all the same.
    """

    @property
    def tolerates(self) -> bool:
        """Return whether the task goes on without the records that it reports (``errors.tolerance=all``)."""

    def report(self, record: SinkRecord, error: Exception) -> Future[None]:
        """Report a record; the future is done when it was handed on.

        Raises:
            ConnectError: the connector tolerates no errors.
        """

    def report_frame(self, frame: SinkFrame, error: Column | str) -> None:
        """Report all records of a frame, as ``frame.where(…)`` makes one; runs a Spark job.

        Args:
            frame: with the columns ``topic``, ``partition`` and ``offset`` that it came with.
            error: the text for each; where it is null, the record is left alone.

        Raises:
            ConnectError: the connector tolerates no errors.
        """


class SinkTaskContext(Protocol):
    """Services of the worker for a sink task (Java: ``SinkTaskContext``)."""

    @property
    def spark(self) -> SparkSession:
        """The worker's Spark session; set no global option on it."""

    @property
    def assignment(self) -> frozenset[TopicPartition]:
        """Partitions of the task now."""

    def offset(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Rewind before the next ``put``, which then begins at these offsets."""

    def timeout(self, milliseconds: int) -> None:
        """Time to wait before the batch comes again after a RetriableError."""

    def pause(self, *partitions: TopicPartition) -> None:
        """Have no records of these partitions until ``resume``."""

    def resume(self, *partitions: TopicPartition) -> None:
        """Have records of these partitions again."""

    def request_commit(self) -> None:
        """Have offsets committed after this ``put`` rather than at the next interval."""

    @property
    def errant_record_reporter(self) -> ErrantRecordReporter | None:
        """Takes records that cannot be written; ``None`` without a dead letter queue and without ``errors.log``."""


class SourceTask(ABC):
    """Reads records from another system."""

    context: SourceTaskContext

    @abstractmethod
    def start(self, config: Properties) -> None:
        """Open what the task needs; an exception makes the task FAILED."""

    @abstractmethod
    def poll(self) -> Sequence[SourceFrame] | Sequence[SourceRecord] | SourceFrame | None:
        """The next records, ``None`` or nothing when there are none yet.

        May block about a second, then returns nothing. RetriableError means nothing for now; any other
        exception makes the task FAILED.
        """

    def reread_delay(self, error: Exception) -> float | None:
        """How long to wait before the records of a polled frame are read again; ``None`` to fail the task.

        Spark reads them after ``poll`` has returned; when that fails, the worker calls this, from another thread than
        the other methods.

        Args:
            error: what Spark has raised.
        """
        return None

    def delivered(self, frame: SourceFrame) -> None:  # noqa: B027 (optional hook)
        """Called when the brokers have acknowledged all records of a frame (Java: ``commitRecord``, for a frame).

        From another thread than the other calls, maybe during a ``poll``. Records that were polled one by one come as
        the frame that the worker made of them. An exception makes the task FAILED.
        """

    def commit(self) -> None:  # noqa: B027 (optional hook)
        """Called after offsets were committed."""

    @abstractmethod
    def stop(self) -> None:
        """Close everything. Called once, also after a failure of ``start``."""


class SinkTask(ABC):
    """Writes records to another system."""

    context: SinkTaskContext
    needs_headers: ClassVar[bool] = True

    @abstractmethod
    def start(self, config: Properties) -> None:
        """Open what the task needs; an exception makes the task FAILED."""

    def open(self, partitions: Sequence[TopicPartition]) -> None:  # noqa: B027 (optional hook)
        """Partitions were assigned; called before their first records."""

    @abstractmethod
    def put(self, batch: SinkBatch) -> None:
        """Write the records.

        RetriableError brings the same batch again after ``context.timeout``; any other exception makes the task
        FAILED. The batch is redelivered after a crash unless its offsets were committed.
        """

    def flush(self, offsets: Mapping[TopicPartition, int]) -> None:  # noqa: B027 (optional hook)
        """Make durable what was put up to these offsets."""

    def pre_commit(self, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        """Return the offsets that may be committed now; by default flushes and returns all of them."""
        self.flush(offsets)
        return offsets

    def close(self, partitions: Sequence[TopicPartition]) -> None:  # noqa: B027 (optional hook)
        """Partitions are going to another task, or the task is stopping."""

    @abstractmethod
    def stop(self) -> None:
        """Close everything. Called once, also after a failure of ``start``."""


class Connector(ABC):
    """Describes the work of tasks.

    Attributes:
        config_def: the keys of the connector's configuration.
        task_class: what runs the task configurations.
        java_class: the Java class whose configurations this connector takes over; ``None`` for our own.
        java_task_class: the same for the task.
        other_java_classes: further Java classes of which the same is true.
        version: shown in status and plugin lists; that of the distribution unless given.
        properties: the connector's configuration, set by ``start``.
    """

    config_def: ClassVar[type[ConfigDef]]
    java_class: ClassVar[str | None] = None
    java_task_class: ClassVar[str | None] = None
    other_java_classes: ClassVar[tuple[str, ...]] = ()
    version: ClassVar[str] = "undefined"
    context: ConnectorContext
    properties: Properties

    @property
    @abstractmethod
    def task_class(self) -> type[SourceTask] | type[SinkTask]:
        """The class of the connector's tasks."""

    def start(self, config: Properties) -> None:
        """Take the configuration; an exception makes the connector FAILED."""
        self.properties = config

    @abstractmethod
    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        """At most ``max_tasks`` task configurations."""

    def stop(self) -> None:  # noqa: B027 (optional hook)
        """Close everything."""


class SourceConnector(Connector):
    """A connector that reads from another system into Kafka: with one task, unless it can share out its work."""

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        """The connector's own configuration, for the one task."""
        return [dict(self.properties)]

    def alter_offsets(
        self, config: Properties, offsets: Sequence[tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]]
    ) -> bool:
        """Check offsets a user wants to set (KIP-875); ``True`` when the connector knows they are right.

        Raises:
            ConnectError: an offset is wrong; nothing is written.
        """
        return False


class SinkConnector(Connector):
    """A connector that writes from Kafka to another system: with ``tasks.max`` tasks, which share the partitions."""

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        """The connector's own configuration for each task."""
        return [dict(self.properties) for _ in range(max_tasks)]

    def alter_offsets(self, config: Properties, offsets: Mapping[TopicPartition, int | None]) -> bool:
        """Like :meth:`SourceConnector.alter_offsets`, by topic partition."""
        return False
