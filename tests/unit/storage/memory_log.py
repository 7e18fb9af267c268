"""Topics without brokers, for the stores of the internal topics.

`tests/topic_log_contract.py` holds this log to what the real one does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from confluent_kafka import KafkaError, Message

from connect_dagster.errors import ConnectError
from connect_dagster.kafka.settings.java_settings import Settings
from connect_dagster.kafka.topic_admin import NewTopic, TopicAdmin
from connect_dagster.storage.topic_log import (
    Callback,
    Entry,
    Headers,
    NotPermittedError,
    OnRecord,
    Send,
    TopicMissingError,
)


class MemoryTopics:
    """Topics of one partition.

    Attributes:
        away: names of the topics that cannot be read or written now.
        deleted: names of the topics that somebody has deleted.
    """

    def __init__(self) -> None:
        self.records: dict[str, list[Entry]] = {}
        self.headers: dict[tuple[str, int], Headers] = {}
        self.away: set[str] = set()
        self.deleted: set[str] = set()
        self.logs: list[MemoryLog] = []

    def keys(self, topic: str) -> list[str]:
        """Keys of all records, in their order."""
        return [key.decode() for key, _ in self.records.get(topic, [])]

    def open(
        self,
        topic: str,
        settings: Settings,
        admin: TopicAdmin,
        on_record: OnRecord,
        permitted: Callable[[], bool],
    ) -> MemoryLog:
        """Make a log (see ``OpenLog``)."""
        log = MemoryLog(self, topic, on_record, permitted)
        self.logs.append(log)
        return log

    def append(self, topic: str, entry: Entry, headers: Headers = ()) -> None:
        """Append a record; every log that is not held back reads it at once."""
        records = self.records.setdefault(topic, [])
        self.headers[topic, len(records)] = headers
        records.append(entry)
        for log in self.logs:
            if log.topic == topic and log.follows:
                log.read()


class MemoryLog:
    """A topic as one worker reads and writes it.

    Attributes:
        follows: whether it reads new records at once, or only when it must read to the end.
    """

    def __init__(self, topics: MemoryTopics, topic: str, on_record: OnRecord, permitted: Callable[[], bool]) -> None:
        self.topic = topic
        self.follows = False
        self._topics = topics
        self._on_record = on_record
        self._permitted = permitted
        self._position = 0

    @property
    def partitions(self) -> list[int]:
        return [0]

    def start(self) -> None:
        self.read_to_end(0)
        self.follows = True

    def stop(self) -> None:
        self.follows = False

    def send(self, key: bytes, value: bytes | None, callback: Callback | None = None, headers: Headers = ()) -> None:
        self._require_permission()
        if self.topic in self._topics.away:
            raise ConnectError(f"Could not write to topic '{self.topic}'")
        self._topics.append(self.topic, (key, value), headers)
        if callback is not None:
            callback(cast("KafkaError | None", None), cast("Message", None))

    def write(self, entries: Sequence[Entry], timeout: float, send: Send | None = None) -> None:
        if send is None:
            self.append(entries, timeout)
        else:
            self._require_permission()
            send(entries, timeout, lambda: self.topic in self._topics.deleted)
        self.read()

    def append(self, entries: Sequence[Entry], timeout: float) -> None:
        if self.topic in self._topics.deleted:
            raise TopicMissingError(self.topic)
        for key, value in entries:
            self.send(key, value)

    def _require_permission(self) -> None:
        if not self._permitted():
            raise NotPermittedError(f"This worker may not write to topic '{self.topic}' now: it is not in the group")

    def flush(self, timeout: float) -> bool:
        return True

    def read_to_end(self, timeout: float, *, past_transactions: bool = False) -> dict[int, int]:
        if self.topic in self._topics.deleted:
            raise TopicMissingError(self.topic)
        if self.topic in self._topics.away:
            raise TimeoutError(f"Topic '{self.topic}' was not read up to its end in time")
        self.read()
        return {0: self._position}

    def read(self) -> None:
        """Hand on all new records."""
        records = self._topics.records.get(self.topic, [])
        while self._position < len(records):
            key, value = records[self._position]
            headers = self._topics.headers.get((self.topic, self._position), ())
            self._position += 1
            self._on_record(key, value, 0, self._position - 1, 1, headers)


class MemoryAdmin(TopicAdmin):
    """Topics exist as soon as somebody writes to them."""

    def __init__(self) -> None:
        pass

    def create_with_retry(self, topic: NewTopic) -> bool | None:
        return True
