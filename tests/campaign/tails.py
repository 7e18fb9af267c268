"""Arrivals since the last look: in a file, a topic, a table. Each record is found once, torn ones never."""

import os
import time
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pymysql
from confluent_kafka import Consumer, KafkaException, TopicPartition

from tests.campaign.ledger import numbers
from tests.databases import Database

_MOST_RECORDS = 5_000
_LIST_SECONDS = 30.0
_GLANCE_SECONDS = 2.0
_SILENCE_SECONDS = 10.0
_POLL_SECONDS = 0.1
# A worker that is frozen commits what it began before.
_GAP_SECONDS = 120.0


class FileTail:
    """The end of a file that is appended to.

    Args:
        path: of the file, which may not exist yet.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._position = 0

    def read(self) -> list[int]:
        """Return the numbers of all whole lines that came."""
        if not self._path.exists():
            return []
        with self._path.open("rb") as file:
            # The sink takes lines back that it could not write to the end.
            self._position = min(self._position, os.fstat(file.fileno()).st_size)
            file.seek(self._position)
            text = file.read()
        whole = text[: text.rfind(b"\n") + 1]
        self._position += len(whole)
        return numbers(whole)


class TopicTail:
    """The end of a topic, all of whose partitions are read from their beginning.

    Args:
        bootstrap_servers: of the cluster.
        topic: its name.
        partitions: number of its partitions.
    """

    def __init__(self, bootstrap_servers: str, topic: str, partitions: int) -> None:
        self._topic = topic
        self._servers = bootstrap_servers
        self._following: dict[int, int] = {}
        self._heard = time.monotonic()
        self._consumer = self._connected(partitions)

    def close(self) -> None:
        """Close the connections."""
        self._consumer.close()

    def read(self) -> list[int]:
        """Return the numbers of all records that came."""
        found: list[int] = []
        while batch := self._consumer.consume(_MOST_RECORDS, 0.05):
            for record in batch:
                if record.error() is None:
                    self._following[record.partition() or 0] = (record.offset() or 0) + 1
                    value = record.value()
                    found += numbers(value if isinstance(value, bytes) else b"")
        if found:
            self._heard = time.monotonic()
        elif time.monotonic() - self._heard > _SILENCE_SECONDS:
            self._open_again()
        return found

    def _open_again(self) -> None:
        """Replace a consumer that reads nothing: librdkafka may stop when brokers restart (librdkafka#5301)."""
        self._heard = time.monotonic()
        fresh = self._client()
        # The other one may not even list topics any more.
        if there := self._partitions(fresh, _GLANCE_SECONDS):
            self._consumer.close()
            self._consumer = self._following_on(fresh, there)
        else:
            fresh.close()

    def look_for_partitions(self, count: int) -> None:
        """Continue with all partitions of the topic, once there are this many."""
        self._consumer.close()
        self._consumer = self._connected(count)

    def begin_again(self, partitions: int) -> None:
        """Start at the beginning of another topic of the same name."""
        self._following = {}
        self.look_for_partitions(partitions)

    def _connected(self, partitions: int) -> Consumer:
        consumer = self._client()
        deadline = time.monotonic() + _LIST_SECONDS
        while len(found := self._partitions(consumer, _LIST_SECONDS)) < partitions:
            if time.monotonic() > deadline:
                consumer.close()
                raise TimeoutError(f"{self._topic} has {len(found)} partitions, not {partitions}")
            time.sleep(_POLL_SECONDS)
        return self._following_on(consumer, found)

    def _client(self) -> Consumer:
        return Consumer(
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

    def _following_on(self, consumer: Consumer, partitions: list[int]) -> Consumer:
        consumer.assign([TopicPartition(self._topic, each, self._following.get(each, 0)) for each in partitions])
        return consumer

    def _partitions(self, consumer: Consumer, seconds: float) -> list[int]:
        with suppress(KafkaException):
            return list(consumer.list_topics(self._topic, timeout=seconds).topics[self._topic].partitions)
        return []


class TableTail:
    """The end of a table `copies` with an increasing column `seq` and a text `line`.

    A transaction may commit rows below the highest one, so gaps are looked at again for a while.

    Args:
        database: that has it.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._highest = 0
        self._gaps: list[tuple[range, float]] = []

    def read(self) -> list[int]:
        """Return the numbers of all rows that came; none while the database is away."""
        now = time.monotonic()
        gaps = [(gap, since) for gap, since in self._gaps if now - since < _GAP_SECONDS]
        wanted = [f"seq > {self._highest}", *(f"seq BETWEEN {gap.start} AND {gap.stop - 1}" for gap, _ in gaps)]
        try:
            rows = self._database.query(f"SELECT seq, line FROM copies WHERE {' OR '.join(wanted)} ORDER BY seq")
        except (pymysql.err.OperationalError, pymysql.err.InterfaceError):
            return []
        found = [seq for seq, _ in rows]
        above = range(self._highest + 1, max([self._highest, *found]) + 1)
        self._highest = above.stop - 1
        self._gaps = [(left, since) for gap, since in [*gaps, (above, now)] for left in gaps_within(gap, found)]
        return [number for _, text in rows for number in numbers(text.encode())]


def gaps_within(whole: range, found: Sequence[int]) -> Iterator[range]:
    """Yield the parts of a range without the numbers, which ascend."""
    start = whole.start
    for number in found[bisect_left(found, whole.start) : bisect_left(found, whole.stop)]:
        if number > start:
            yield range(start, number)
        start = number + 1
    if start < whole.stop:
        yield range(start, whole.stop)
