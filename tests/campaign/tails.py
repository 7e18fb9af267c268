"""What has arrived since the last look: in a file, a topic, a table. Each record is found once, and torn ones never."""

import os
import time
from collections import deque
from contextlib import suppress
from pathlib import Path

from confluent_kafka import Consumer, KafkaException, TopicPartition

from tests.campaign.ledger import numbers
from tests.databases import Database

_MOST_RECORDS = 5_000
_LIST_SECONDS = 30.0
_POLL_SECONDS = 0.1
# Rows that another transaction began before those that were seen may come later.
_TABLE_MARGIN = 5_000


class FileTail:
    """The end of a file that is appended to.

    Args:
        path: of the file, which may not exist yet.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._position = 0

    def read(self) -> list[int]:
        """The numbers of all whole lines that came."""
        if not self._path.exists():
            return []
        with self._path.open("rb") as file:
            file.seek(self._position)
            text = file.read()
        whole = text[: text.rfind(b"\n") + 1]
        self._position += len(whole)
        return numbers(whole)


class TopicTail:
    """The end of a topic, whose partitions are all read from their beginning.

    Args:
        bootstrap_servers: of the cluster.
        topic: its name.
        partitions: how many it has.
    """

    def __init__(self, bootstrap_servers: str, topic: str, partitions: int) -> None:
        self._topic = topic
        self._servers = bootstrap_servers
        self._following: dict[int, int] = {}
        self._consumer = self._connected(partitions)

    def close(self) -> None:
        """Leave the brokers."""
        self._consumer.close()

    def read(self) -> list[int]:
        """The numbers of all records that came."""
        found: list[int] = []
        while batch := self._consumer.consume(_MOST_RECORDS, 0.05):
            for record in batch:
                if record.error() is None:
                    self._following[record.partition() or 0] = (record.offset() or 0) + 1
                    value = record.value()
                    found += numbers(value if isinstance(value, bytes) else b"")
        return found

    def look_for_partitions(self, count: int) -> None:
        """Go on with all partitions that the topic has once there are this many."""
        self._consumer.close()
        self._consumer = self._connected(count)

    def begin_again(self, partitions: int) -> None:
        """Read another topic of the same name from its beginning."""
        self._following = {}
        self.look_for_partitions(partitions)

    def _connected(self, partitions: int) -> Consumer:
        consumer = Consumer(
            {
                "bootstrap.servers": self._servers,
                "group.id": "unused",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "fetch.wait.max.ms": 20,
                "reconnect.backoff.max.ms": 500,
                "log_level": 0,
            }
        )
        deadline = time.monotonic() + _LIST_SECONDS
        while len(found := self._partitions(consumer)) < partitions:
            if time.monotonic() > deadline:
                consumer.close()
                raise TimeoutError(f"{self._topic} has {len(found)} partitions, not {partitions}")
            time.sleep(_POLL_SECONDS)
        consumer.assign([TopicPartition(self._topic, each, self._following.get(each, 0)) for each in found])
        return consumer

    def _partitions(self, consumer: Consumer) -> list[int]:
        with suppress(KafkaException):
            return list(consumer.list_topics(self._topic, timeout=_LIST_SECONDS).topics[self._topic].partitions)
        return []


class TableTail:
    """The end of a table `copies` with an increasing column `seq` and a text `line`.

    Args:
        database: that has it.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._seen: set[int] = set()
        self._order: deque[int] = deque()
        self._highest = 0

    def read(self) -> list[int]:
        """The numbers of all rows that came; none while the database is away."""
        since = self._highest - _TABLE_MARGIN
        try:
            rows = self._database.query(f"SELECT seq, line FROM copies WHERE seq > {since} ORDER BY seq")
        except Exception as error:  # each client has errors of its own
            if type(error).__name__ in {"OperationalError", "InterfaceError"}:
                return []
            raise
        fresh = [(seq, text) for seq, text in rows if seq not in self._seen]
        for seq, _ in fresh:
            self._seen.add(seq)
            self._order.append(seq)
            self._highest = max(self._highest, seq)
        while len(self._order) > 2 * _TABLE_MARGIN + len(rows):
            self._seen.discard(self._order.popleft())
        return [number for _, text in fresh for number in numbers(text.encode())]


def bytes_free(folder: Path) -> int:
    """How much may be written to a disk."""
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize
