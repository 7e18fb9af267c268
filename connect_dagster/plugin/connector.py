"""Base classes of connectors and tasks (Java: ``org.apache.kafka.connect.connector``).

A connector checks a configuration and divides the work among tasks. A task moves records. All calls to one task
come from one thread at a time; nothing is called after ``stop``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from enum import Enum, auto
from importlib import import_module
from typing import Any, ClassVar, Protocol

import pyarrow as pa
from pyspark.sql import Column, SparkSession

from connect_dagster.errors import ConnectError
from connect_dagster.plugin.config import ConfigDef
from connect_dagster.plugin.frames import SinkBatch, SinkFrame
from connect_dagster.plugin.header_converter import HeaderConverter
from connect_dagster.plugin.lines import SourceBatch
from connect_dagster.plugin.metrics import Metrics
from connect_dagster.plugin.rate import Rate
from connect_dagster.plugin.records import RecordMetadata, SinkRecord, SourceRecord, TopicPartition

Properties = Mapping[str, str]
LoadClass = Callable[[str], type[Any]]
"""Returns a class by its module and name, as plugins are found. Raises ConnectError: it cannot be found."""


def importable_class(name: str) -> type[Any]:
    """Return a class of a module that can be imported, as outside of a worker. Raises ConnectError."""
    module, _, attribute = name.rpartition(".")
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConnectError(f"Class {name} could not be found: {error}") from error
    if not isinstance(found, type):
        raise ConnectError(f"{name} is not a class")
    return found


class ConnectorContext(Protocol):
    """Services of the worker for a connector (Java: ``ConnectorContext``, ``SinkConnectorContext``)."""

    @property
    def metrics(self) -> Metrics:
        """Return the metrics of the connector, to which it may add some (Java: ``pluginMetrics``, KIP-877)."""

    def request_task_reconfiguration(self) -> None:
        """Make the worker call ``task_configs`` again; tasks restart only if the configurations changed."""

    def raise_error(self, error: Exception) -> None:
        """Fail the connector from one of its threads."""

    def load_class(self, name: str) -> type[Any]:
        """Return a class that an option names by its module and name, from wherever plugins are found.

        Raises:
            ConnectError: it cannot be found.
        """


class OffsetReader(Protocol):
    """Reads the committed offsets of a source connector (Java: ``OffsetStorageReader``)."""

    def offset(self, partition: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the last committed offset of a source partition; ``None`` when there is none."""

    def offsets(self, partitions: Iterable[Mapping[str, Any]]) -> list[dict[str, Any] | None]:
        """Return the last committed offsets of many partitions, in their order; ``None`` for those without one."""
        return [self.offset(partition) for partition in partitions]


class SourceConnectorContext(ConnectorContext, Protocol):
    """Services of the worker for a source connector (Java: ``SourceConnectorContext``)."""

    @property
    def offsets(self) -> OffsetReader:
        """Return a reader of the connector's committed offsets, which reads what its tasks have committed until now.

        A call takes a request to the brokers. It raises ConnectError where they do not respond.
        """


class TransactionContext(Protocol):
    """Ends the transactions of a source task with ``transaction.boundary=connector`` (Java: ``TransactionContext``).

    Records since the last end are in one transaction with the offsets after them. An abort drops them, and commits
    their offsets: to read them again, raise an error instead. What is open when the task ends, by itself or with an
    error, is dropped with its offsets.

    Example:
        >>> def poll(self) -> list[SourceRecord]:
        ...     records = self.next_order()
        ...     if (context := self.context.transaction_context) is not None:
        ...         context.commit_transaction(records[-1])
        ...     return records
    """

    def commit_transaction(self, last: SourceRecord | SourceBatch | None = None) -> None:
        """Request a commit behind a record or a frame; without it, behind the next result of ``poll``.

        Args:
            last: of the transaction; the object that ``poll`` returns.
        """

    def abort_transaction(self, last: SourceRecord | SourceBatch | None = None) -> None:
        """Request an abort, as :meth:`commit_transaction` requests a commit. A request for a record goes first."""


class SourceTaskContext(Protocol):
    """Services of the worker for a source task (Java: ``SourceTaskContext``)."""

    def configs(self) -> Properties:
        """Return the task's configuration with the values that config providers have now.

        They may differ from those that ``start`` has got, such as a password that was changed meanwhile.

        Raises:
            ConfigError: a config provider failed.
        """

    @property
    def spark(self) -> SparkSession:
        """Return the worker's Spark session; set no global option on it."""

    @property
    def offsets(self) -> OffsetReader:
        """Return a reader of the connector's committed offsets."""

    @property
    def metrics(self) -> Metrics:
        """Return the metrics of the task, to which it may add further ones (Java: ``pluginMetrics``, KIP-877)."""

    @property
    def header_converter(self) -> HeaderConverter:
        """Return the connector's converter of headers, for frames, whose headers are bytes."""

    @property
    def transaction_context(self) -> TransactionContext | None:
        """Return what ends transactions; ``None`` where the connector does not, or the worker has none."""

    @property
    def rate(self) -> Rate:
        """Return the most that the task may send in a second; a poll that returns more waits the longer.

        The worker paces what is sent in any case. A task whose polls may be large bounds them to a second of it, so
        that a stop does not wait for a long batch.
        """

    def load_class(self, name: str) -> type[Any]:
        """Return a class that an option names, as :meth:`ConnectorContext.load_class`."""


class ErrantRecordReporter(Protocol):
    """Reports records that a sink task could not write to the log and the dead letter queue (KIP-610).

    Their offsets are committed after they are written there. With ``errors.tolerance=none`` the task also fails.
    """

    @property
    def tolerates(self) -> bool:
        """Return whether the task continues without the records that it reports (``errors.tolerance=all``)."""

    def report(self, record: SinkRecord, error: Exception) -> Future[None]:
        """Report a record; the future completes when the record is written.

        Raises:
            ConnectError: the connector tolerates no errors.
        """

    def report_frame(self, frame: SinkFrame, error: Column | str) -> None:
        """Report all records of a frame, as ``frame.where(…)`` makes one; runs a Spark job.

        Args:
            frame: with the columns ``topic``, ``partition`` and ``offset`` that it came with.
            error: the text for each; a record with null is not reported.

        Raises:
            ConnectError: the connector tolerates no errors.
        """


class SinkTaskContext(Protocol):
    """Services of the worker for a sink task (Java: ``SinkTaskContext``)."""

    def configs(self) -> Properties:
        """Return the task's configuration as it is now, as :meth:`SourceTaskContext.configs`."""

    @property
    def metrics(self) -> Metrics:
        """Return the metrics of the task, to which it may add further ones (Java: ``pluginMetrics``, KIP-877)."""

    @property
    def spark(self) -> SparkSession:
        """Return the worker's Spark session; set no global option on it."""

    @property
    def assignment(self) -> frozenset[TopicPartition]:
        """Return the partitions that the task has now."""

    @property
    def topic_ids(self) -> Mapping[str, str]:
        """Return the ids of the topics of these partitions, where the brokers have ids (KIP-516).

        A topic that was deleted and created again has another id. The worker then closes and opens its partitions.
        """

    def offset(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Rewind before the next ``put``, which then begins at these offsets."""

    def timeout(self, milliseconds: int) -> None:
        """Set the delay before the same batch is put again after a RetriableError."""

    def pause(self, *partitions: TopicPartition) -> None:
        """Put no records of these partitions until ``resume``."""

    def resume(self, *partitions: TopicPartition) -> None:
        """Put records of these partitions again."""

    def request_commit(self) -> None:
        """Request a commit of offsets after this ``put``, before the next interval."""

    @property
    def errant_record_reporter(self) -> ErrantRecordReporter | None:
        """Return the reporter of failed records; ``None`` without dead letter queue and ``errors.log.enable``."""


class SourceTask(ABC):
    """Reads records from another system.

    Attributes:
        at_driver: whether the task reads the records itself, in the worker, which is Spark's driver; its log names such
            tasks where the executors run on other machines.
        wants_receipts: whether its frames may have a column ``receipt``.
        polls_late: whether to poll only once the batches before are encoded: for a task whose polls read nothing
            themselves, so that the records that come meanwhile are one batch.
    """

    context: SourceTaskContext
    at_driver: ClassVar[bool] = False
    wants_receipts: ClassVar[bool] = False
    polls_late: ClassVar[bool] = False

    @abstractmethod
    def start(self, config: Properties) -> None:
        """Open what the task needs; an exception makes the task FAILED."""

    @abstractmethod
    def poll(self) -> Sequence[SourceBatch] | Sequence[SourceRecord] | SourceBatch | None:
        """Return the next records; ``None`` or an empty list when there are none yet.

        May block for about a second. After a RetriableError the worker polls again; any other exception makes the
        task FAILED.
        """

    def reread_delay(self, error: Exception) -> float | None:
        """Return the delay in seconds before the records of a polled frame are read again; ``None`` fails the task.

        Spark reads them after ``poll`` has returned; when that fails, the worker calls this, from another thread than
        the other methods.

        Args:
            error: what Spark has raised.
        """
        return None

    def rewind(self) -> None:
        """Read on after the batches that were delivered: those polled after them are dropped.

        Called after reading a batch has raised a ``RewindError``, before the next ``poll``.
        """
        raise NotImplementedError(f"{type(self).__name__} raises RewindError, but has no rewind()")

    def encoded(self, batch: SourceBatch, records: int, size: int) -> None:  # noqa: B027 (optional hook)
        """Learn how large a polled batch was, so that further ones can be fitted.

        Called from another thread than the other methods, before ``delivered``, and not for each batch.

        Args:
            batch: as it was polled.
            records: number of its records.
            size: bytes of their keys, values and headers, as they are sent.
        """

    def delivered(self, batch: SourceBatch) -> None:  # noqa: B027 (optional hook)
        """Handle the acknowledgement of all records of a frame or table by the brokers.

        Called from another thread than the other methods, possibly during ``poll``. A list of records arrives as the
        table that the worker made of it. An exception makes the task FAILED.
        """

    def commit_record(  # noqa: B027 (optional hook)
        self, record: SourceRecord, metadata: RecordMetadata | None
    ) -> None:
        """Handle the acknowledgement of one record of a list (Java: ``commitRecord``).

        Called before ``delivered``, from the same thread, for each record in the order of the list, once all of it are
        acknowledged, or their transaction is committed. A class that leaves it as it is costs nothing: the worker then
        forgets single records early. An exception is logged, and the task continues.

        Args:
            record: the object that ``poll`` has returned.
            metadata: its place in Kafka; ``None`` for a record that has none: a transform left it out, Kafka rejected
                it and errors are tolerated, the transaction was aborted, or ``acks`` is 0.
        """

    def received(self, batch: SourceBatch, receipts: pa.Table) -> None:  # noqa: B027 (optional hook)
        """Handle the places that records of frames and tables have got in Kafka: ``commit_record`` by columns.

        Called before ``delivered``, from the same thread, for batches with a column ``receipt``.

        Args:
            batch: as it was polled.
            receipts: columns ``receipt`` as in the batch, ``topic`` (string), ``partition`` (int), ``offset`` (long),
                ``timestamp`` (long) as sent, and ``size`` (int) of the value in bytes, both maybe null; in the order of
                the records, without those that a transform left out, or that Kafka rejected.
        """

    def commit(self) -> None:  # noqa: B027 (optional hook)
        """Handle a commit of offsets; also called at each interval without any to commit.

        With exactly-once delivery it is called after commits of transactions alone.
        """

    @abstractmethod
    def stop(self) -> None:
        """Close everything. Called once, also after a failure of ``start``."""


class SinkTask(ABC):
    """Writes records to another system.

    Attributes:
        needs_headers: whether it looks at the headers of records.
        at_driver: whether the task writes the records itself, as that of a source may read them.
    """

    context: SinkTaskContext
    needs_headers: ClassVar[bool] = True
    at_driver: ClassVar[bool] = False

    @abstractmethod
    def start(self, config: Properties) -> None:
        """Open what the task needs; an exception makes the task FAILED."""

    def open(self, partitions: Sequence[TopicPartition]) -> None:  # noqa: B027 (optional hook)
        """Handle an assignment of partitions; called before their first records."""

    @abstractmethod
    def put(self, batch: SinkBatch) -> None:
        """Write the records.

        After a RetriableError the worker puts the same batch again, delayed by ``context.timeout``; any other
        exception makes the task FAILED. The batch is redelivered after a crash unless its offsets were committed.
        """

    def flush(self, offsets: Mapping[TopicPartition, int]) -> None:  # noqa: B027 (optional hook)
        """Make all records up to these offsets durable."""

    def pre_commit(self, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        """Return the offsets that may be committed now; by default flushes and returns all of them."""
        self.flush(offsets)
        return offsets

    def close(self, partitions: Sequence[TopicPartition]) -> None:  # noqa: B027 (optional hook)
        """Handle the loss of partitions, to another task or because this task stops."""

    @abstractmethod
    def stop(self) -> None:
        """Close everything. Called once, also after a failure of ``start``."""


class Connector(ABC):
    """Base of source and sink connectors.

    Attributes:
        config_def: the keys of the connector's configuration.
        task_class: class of the tasks.
        java_class: the Java class whose configurations this connector accepts; ``None`` for a connector without one.
        java_task_class: the same for the task.
        other_java_classes: further Java classes whose configurations it accepts.
        version: shown in statuses and plugin lists; by default the distribution's.
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
        """Return the class of the connector's tasks."""

    def start(self, config: Properties) -> None:
        """Take the configuration; an exception makes the connector FAILED."""
        self.properties = config

    @abstractmethod
    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        """Return at most ``max_tasks`` task configurations."""

    def stop(self) -> None:  # noqa: B027 (optional hook)
        """Close everything."""


class ExactlyOnceSupport(Enum):
    """Support of exactly-once delivery, in transactions of the worker (KIP-618)."""

    SUPPORTED = auto()
    UNSUPPORTED = auto()


class ConnectorTransactionBoundaries(Enum):
    """Support of transactions that the connector itself ends (KIP-618)."""

    SUPPORTED = auto()
    UNSUPPORTED = auto()


class SourceConnector(Connector):
    """A connector that reads from another system into Kafka; one task unless ``task_configs`` is overridden."""

    context: SourceConnectorContext

    def exactly_once_support(self, config: Properties) -> ExactlyOnceSupport | None:
        """Return whether the connector supports exactly-once with a configuration; ``None`` where it is not known.

        It does where the offsets of its batches tell all that a task needs to read on behind them. Asked where
        ``exactly.once.support`` is ``required``.
        """
        return None

    def can_define_transaction_boundaries(self, config: Properties) -> ConnectorTransactionBoundaries:
        """Return whether the tasks end transactions by their ``transaction_context``, with a configuration.

        Asked where ``transaction.boundary`` is ``connector``.
        """
        return ConnectorTransactionBoundaries.UNSUPPORTED

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        """Return the connector's configuration, for one task."""
        return [dict(self.properties)]

    def alter_offsets(
        self, config: Properties, offsets: Sequence[tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]]
    ) -> bool:
        """Check offsets that a user sets (KIP-875); return ``True`` when the connector has checked them.

        Raises:
            ConnectError: an offset is wrong; nothing is written.
        """
        return False


class SinkConnector(Connector):
    """A connector that writes from Kafka to another system; ``tasks.max`` tasks share the partitions."""

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        """Return the connector's configuration for each task."""
        return [dict(self.properties) for _ in range(max_tasks)]

    def alter_offsets(self, config: Properties, offsets: Mapping[TopicPartition, int | None]) -> bool:
        """Check offsets that a user sets, by topic partition; see :meth:`SourceConnector.alter_offsets`."""
        return False
