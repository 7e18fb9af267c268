"""States of connectors and tasks, and the topics they use, in a group's status topic.

Java: ``KafkaStatusBackingStore``. The worker that runs a connector or task reports its state; every worker reads all
reports. A report counts once it was read back. Reports are written without waiting, and never fail their caller.
"""

from __future__ import annotations

import itertools
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass

from confluent_kafka import KafkaError, Message

from connect_dagster.errors import ConnectError
from connect_dagster.kafka.settings.java_settings import Settings
from connect_dagster.kafka.topic_admin import TopicAdmin
from connect_dagster.protocol import status_records as records
from connect_dagster.protocol.states import Status, TaskId
from connect_dagster.protocol.status_records import StatusTable, TopicUse, may_write_safely
from connect_dagster.storage.internal_topics import InternalTopic, ensure_internal_topic
from connect_dagster.storage.topic_log import Headers, NotPermittedError, OpenLog, TopicLog, always

log = logging.getLogger(__name__)

_FLUSH_SECONDS = 30.0
# The client itself has tried again until then; the topic was created again, with fewer partitions; the log has dropped
# it without a lease, and if there is still none it says so.
_PASSING = frozenset(
    {
        KafkaError._MSG_TIMED_OUT,
        KafkaError.REQUEST_TIMED_OUT,
        KafkaError._UNKNOWN_PARTITION,
        KafkaError._PURGE_QUEUE,
        KafkaError._PURGE_INFLIGHT,
    }
)


@dataclass(frozen=True, slots=True)
class _Report:
    """A record on its way, with what decides whether it may be sent again.

    Attributes:
        key: its key.
        value: its value.
        number: grows with each report of this worker.
        is_due: returns whether no other worker has reported in a later generation.
        headers: its headers.
    """

    key: str
    value: bytes | None
    number: int
    is_due: Callable[[], bool] = always
    headers: Headers = ()


class StatusStore:
    """The status topic, read and written; any thread may call it.

    Args:
        topic: made by :meth:`start` where it does not exist.
        settings: settings of the worker's own Kafka clients in Java's names; ``statuses`` is added to ``client.id``.
        admin: asks about topics.
        permitted: whether this worker may write now; when not, reports are dropped.
        open_log: makes the log of the topic.
    """

    def __init__(
        self,
        topic: InternalTopic,
        settings: Settings,
        admin: TopicAdmin,
        permitted: Callable[[], bool] = always,
        open_log: OpenLog = TopicLog,
    ) -> None:
        self._topic = topic
        self._admin = admin
        self._table = StatusTable()
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._latest: dict[str, int] = {}
        own = {**settings, "client.id": settings["client.id"] + "statuses"}
        self._log = open_log(topic.name, own, admin, self._take, permitted)

    def start(self) -> None:
        """Read the whole topic.

        Raises:
            ConfigError: it is not compacted.
            ConnectError: it cannot be made or read.
        """
        ensure_internal_topic(self._admin, self._topic)
        self._log.start()

    def stop(self) -> None:
        """Send what waits, as far as the brokers take it at once, and end."""
        self._log.stop()

    def flush(self) -> None:
        """Wait until the brokers have answered for all reports, for half a minute at most."""
        if not self._log.flush(_FLUSH_SECONDS):
            log.warning("The brokers did not acknowledge all reports for topic '%s' in time", self._topic.name)

    def refresh(self, timeout_seconds: float) -> None:
        """Read what is in the topic now. Raises TimeoutError when it takes longer."""
        self._log.read_to_end(timeout_seconds)

    # Reading

    def connector(self, name: str) -> Status | None:
        """Status of a connector."""
        with self._lock:
            return self._table.connectors.get(name)

    def task(self, id: TaskId) -> Status | None:
        """Status of a task."""
        with self._lock:
            return self._table.task(id)

    def tasks(self, connector: str) -> tuple[tuple[int, Status], ...]:
        """Statuses of a connector's tasks, by number."""
        with self._lock:
            found = dict(self._table.tasks.get(connector, {}))
        return tuple((number, found[number]) for number in sorted(found))

    def connectors(self) -> set[str]:
        """Return the names of the connectors that have a status."""
        with self._lock:
            return set(self._table.connectors)

    def topics(self, connector: str) -> list[str]:
        """Active topics of a connector, sorted."""
        with self._lock:
            return sorted(self._table.topics.get(connector, ()))

    # Writing

    def put_connector(self, name: str, status: Status) -> None:
        """Report a connector; DESTROYED removes its status and its tasks' from all workers."""
        self._put(records.connector_key(name), status, lambda: self.connector(name))

    def put_connector_safe(self, name: str, status: Status) -> None:
        """Report a connector unless another worker has done so in a later generation."""
        if may_write_safely(status, self.connector(name)):
            self.put_connector(name, status)

    def put_task(self, id: TaskId, status: Status) -> None:
        """Report a task; DESTROYED removes its status."""
        self._put(records.task_key(id), status, lambda: self.task(id))

    def put_task_safe(self, id: TaskId, status: Status) -> None:
        """Report a task unless another worker has done so in a later generation."""
        if may_write_safely(status, self.task(id)):
            self.put_task(id, status)

    def put_topic(self, connector: str, task: int, topic: str, discovered_ms: int) -> None:
        """Report that a connector uses a topic.

        Args:
            connector: the connector.
            task: number of the task that used it first.
            topic: the topic.
            discovered_ms: when that was, in epoch milliseconds.
        """
        value = records.topic_value(TopicUse(topic, connector, task, discovered_ms))
        self._send(self._report(records.topic_key(connector, topic), value))

    def delete_topic(self, connector: str, topic: str) -> None:
        """Forget that a connector uses a topic."""
        self._send(self._report(records.topic_key(connector, topic), None))

    def reset_topics(self, connector: str) -> None:
        """Forget all topics that a connector is known to use."""
        for topic in self.topics(connector):
            self.delete_topic(connector, topic)

    def _put(self, key: str, status: Status, current: Callable[[], Status | None]) -> None:
        def is_due() -> bool:
            return may_write_safely(status, current())

        self._send(self._report(key, records.status_value(status), is_due, records.status_headers(status)))

    def _report(
        self, key: str, value: bytes | None, is_due: Callable[[], bool] = always, headers: Headers = ()
    ) -> _Report:
        report = _Report(key, value, next(self._numbers), is_due, headers)
        self._latest[key] = report.number
        return report

    def _send(self, report: _Report) -> None:
        def written(error: KafkaError | None, message: Message) -> None:
            if error is None:
                return
            if error.code() in _PASSING and self._still_true(report):
                self._send(report)
            else:
                log.error("Failed to write status update %s: %s", report.key, error.str())

        try:
            self._log.send(report.key.encode(), report.value, written, report.headers)
        except NotPermittedError as error:
            log.info("Dropped status update %s: %s", report.key, error)
        except ConnectError as error:
            log.error("Failed to write status update %s: %s", report.key, error)

    def _still_true(self, report: _Report) -> bool:
        """Return whether nothing newer was reported, here or by another worker.

        The work may run on in a later generation, in which Java's worker drops the report.
        """
        return self._latest.get(report.key) == report.number and report.is_due()

    def _take(
        self, key: bytes | None, value: bytes | None, partition: int, offset: int, timestamp: int, headers: Headers
    ) -> None:
        with self._lock:
            problem = self._table.apply(None if key is None else key.decode(errors="replace"), value, headers)
        if problem is not None:
            log.warning("Left out in status topic '%s' at offset %d: %s", self._topic.name, offset, problem)
