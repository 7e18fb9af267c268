"""The flows of numbered records: from a file, a database or a plugin through a topic to a file, a table or a plugin."""

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pymysql

from tests.campaign.ledger import LINE_BYTES, Ledger, line
from tests.campaign.plugins.numbered import PARTS
from tests.campaign.tails import FileTail, TableTail, TopicTail
from tests.databases import Database

TOPIC, SINK = "topic", "sink"
PARTITIONS = 3
_STRING = "org.apache.kafka.connect.storage.StringConverter"
_JSON = "org.apache.kafka.connect.json.JsonConverter"
_CONVERTERS = {"key.converter": _STRING, "value.converter": _STRING}

Offset = Mapping[str, Any]
Config = dict[str, str]


class Flow(ABC):
    """A source, its topic and its sink.

    Args:
        name: of the kind, `file`, `jdbc` or `plugin`; prefix of topic and connectors.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.topic = f"{name}-numbered"
        self.source, self.sink = f"{name}-source", f"{name}-sink"
        self.ledger = Ledger((TOPIC, SINK))
        self.writing = threading.RLock()
        self._tail: TopicTail | None = None

    @abstractmethod
    def configs(self) -> dict[str, Config]:
        """Return the configurations of both connectors by name."""

    @abstractmethod
    def changed(self, round: int) -> dict[str, Config]:
        """Return configurations that differ from those of the round before and move the same records."""

    @abstractmethod
    def write(self, count: int) -> None:
        """Write further records to the source."""

    @abstractmethod
    def rewound(self, offset: Offset, records: int) -> dict[str, Any]:
        """Return a source's offset some records earlier, at least its beginning."""

    @abstractmethod
    def _arrived(self) -> list[int]:
        """Return the numbers that came out of the sink since the last look."""

    def follow(self, bootstrap_servers: str) -> None:
        """Start to read the topic, which exists."""
        self._tail = TopicTail(bootstrap_servers, self.topic, PARTITIONS)

    def close(self) -> None:
        """Stop reading."""
        if self._tail is not None:
            self._tail.close()

    @property
    def tail(self) -> TopicTail:
        """Return the topic's end."""
        assert self._tail is not None
        return self._tail

    def look(self) -> None:
        """Record all arrivals."""
        self.ledger.arrive(TOPIC, self.tail.read())
        self.ledger.arrive(SINK, self._arrived())

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """Pause the writer."""
        with self.writing:
            yield


class FileFlow(Flow):
    """Lines of a file that are copied to another file.

    Args:
        folder: for the source's files.
        sinks: for the sink's file.
    """

    def __init__(self, folder: Path, sinks: Path) -> None:
        super().__init__("file")
        self.path = folder / "lines.txt"
        self.path.touch()
        self.out = sinks / "out.txt"
        self._out = FileTail(self.out)
        self._rotations = 0

    def configs(self) -> dict[str, Config]:
        return self.changed(0)

    def changed(self, round: int) -> dict[str, Config]:
        source = {
            "connector.class": "FileStreamSource",
            "tasks.max": "1",
            "file": str(self.path),
            "topic": self.topic,
            "batch.size": str(2000 - round % 2),
            **_CONVERTERS,
        }
        sink = {
            "connector.class": "FileStreamSink",
            # Two tasks of Java's would tear each other's lines.
            "tasks.max": "1",
            "topics": self.topic,
            "file": str(self.out),
            "errors.retry.timeout": str(round % 2),
            **_CONVERTERS,
        }
        return {self.source: source, self.sink: sink}

    def write(self, count: int) -> None:
        with self.writing, self.path.open("a") as file:
            file.writelines(f"{line(number)}\n" for number in self.ledger.write(count))

    def rewound(self, offset: Offset, records: int) -> dict[str, Any]:
        return {**offset, "position": max(0, offset["position"] - records * LINE_BYTES)}

    def rotate(self) -> None:
        """Rename the file as logrotate does, and begin another."""
        with self.writing:
            self._rotations += 1
            self.path.rename(self.path.with_name(f"{self.path.name}.{self._rotations}"))
            self.path.touch()

    def truncate(self) -> None:
        """Empty the file in its place."""
        with self.writing:
            os.truncate(self.path, 0)

    def rewrite(self) -> None:
        """Replace the file by a copy, as an editor saves it."""
        with self.writing:
            saved = self.path.with_name("saved")
            saved.write_bytes(self.path.read_bytes())
            saved.replace(self.path)

    def _arrived(self) -> list[int]:
        return self._out.read()


class JdbcFlow(Flow):
    """Rows of one table that are copied to another, which has no key, so that duplicates stay.

    Args:
        database: an empty one.
    """

    def __init__(self, database: Database) -> None:
        super().__init__("jdbc")
        self.database = database
        columns = "line VARCHAR(60) NOT NULL"
        database.execute(
            f"CREATE TABLE numbered (id BIGINT NOT NULL PRIMARY KEY, {columns})",
            f"CREATE TABLE copies (seq BIGINT AUTO_INCREMENT PRIMARY KEY, id BIGINT NOT NULL, {columns})",
        )
        self._table = TableTail(database)
        self._unsent: list[int] = []

    def configs(self) -> dict[str, Config]:
        return self.changed(0)

    def changed(self, round: int) -> dict[str, Config]:
        shared = {"key.converter": _JSON, "value.converter": _JSON, **self.database.connection_config}
        source = {
            "connector.class": "io.confluent.connect.jdbc.JdbcSourceConnector",
            "tasks.max": "1",
            "mode": "incrementing",
            "incrementing.column.name": "id",
            "table.whitelist": "numbered",
            "topic.prefix": "jdbc-",
            "poll.interval.ms": str(200 + round % 2),
            "connection.attempts": "1000",
            "connection.backoff.ms": "500",
            **shared,
        }
        sink = {
            "connector.class": "io.confluent.connect.jdbc.JdbcSinkConnector",
            "tasks.max": str(1 + round % 2),
            "topics": self.topic,
            "table.name.format": "copies",
            "insert.mode": "insert",
            "pk.mode": "none",
            "auto.create": "false",
            "max.retries": "1000",
            "retry.backoff.ms": "500",
            "connection.attempts": "1000",
            "connection.backoff.ms": "500",
            **shared,
        }
        return {self.source: source, self.sink: sink}

    def write(self, count: int) -> None:
        with self.writing:
            self._unsent += self.ledger.write(count)
            values = ", ".join(f"({number}, '{line(number)}')" for number in self._unsent)
            # The answer to a commit may have been lost: rows that are there stay.
            try:
                self.database.execute(f"INSERT IGNORE INTO numbered VALUES {values}")
            except (pymysql.err.OperationalError, pymysql.err.InterfaceError):
                return
            self._unsent = []

    def rewound(self, offset: Offset, records: int) -> dict[str, Any]:
        return {**offset, "incrementing": max(0, offset["incrementing"] - records)}

    def _arrived(self) -> list[int]:
        return self._table.read()


class PluginFlow(Flow):
    """Records that one plugin makes and another writes to a file.

    Args:
        folder: for the file that has their count.
        sinks: for the sink's file.
    """

    def __init__(self, folder: Path, sinks: Path) -> None:
        super().__init__("plugin")
        self._upto = folder / "upto"
        self._upto.write_text("0")
        self.out = sinks / "plugin.txt"
        self._out = FileTail(self.out)

    def configs(self) -> dict[str, Config]:
        return self.changed(0)

    def changed(self, round: int) -> dict[str, Config]:
        source = {
            "connector.class": "NumberedSource",
            "tasks.max": str(1 + round % 3),
            "upto": str(self._upto),
            "topic": self.topic,
            **_CONVERTERS,
        }
        sink = {
            "connector.class": "NumberedSink",
            "tasks.max": str(1 + (round + 1) % 2),
            "topics": self.topic,
            "file": str(self.out),
            **_CONVERTERS,
        }
        return {self.source: source, self.sink: sink}

    def write(self, count: int) -> None:
        with self.writing:
            self.ledger.write(count)
            fresh = self._upto.with_name("upto.new")
            fresh.write_text(str(self.ledger.written))
            fresh.replace(self._upto)

    def rewound(self, offset: Offset, records: int) -> dict[str, Any]:
        part = offset["n"] % PARTS
        return {**offset, "n": max(part, offset["n"] - records * PARTS)}

    def _arrived(self) -> list[int]:
        return self._out.read()
