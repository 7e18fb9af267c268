"""Java's transforms, predicates, converters and header converters, asked of a child process.

Keys, values and header values travel as the envelope that ``JsonConverter`` writes with schemas (``{"schema": …,
"payload": …}``, a null schema for schemaless data), ``None`` for null without a schema.
"""

import base64
import json
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from connect_dagster.embedded.jars import resolve
from connect_dagster.embedded.java import find_java

_PROGRAM = Path(__file__).with_name("RecordsInJava.java")


@dataclass(frozen=True, slots=True)
class Record:
    """A record before or after a transform: a sink's where it has an offset, else a source's."""

    value: bytes | None
    key: bytes | None = None
    topic: str = "topic"
    partition: int | None = 0
    timestamp: int | None = None
    offset: int | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()


@dataclass(frozen=True, slots=True)
class Failed:
    """An error in Java: its class and text."""

    error: str
    message: str | None


Ask = Callable[[dict[str, Any]], Any]


@dataclass(frozen=True, slots=True)
class JavaRecords:
    """Java's answers, of a process or recorded ones.

    Attributes:
        ask: Returns the answer to one question: a list of one for each record, or one error for all.
    """

    ask: Ask

    def transformed(
        self, java_class: str, config: Mapping[str, str], records: Sequence[Record]
    ) -> list[Record | Failed | None]:
        """Each record after the transform; ``None`` where it was dropped."""
        found = self._ask("transform", java_class, config, list(map(_told, records)))
        return [_answer(one, before) for one, before in zip(found, records, strict=True)]

    def tested(self, java_class: str, config: Mapping[str, str], records: Sequence[Record]) -> list[bool]:
        """What a predicate says of each record."""
        return list(self._ask("predicate", java_class, config, list(map(_told, records))))

    def written(
        self,
        java_class: str,
        config: Mapping[str, str],
        envelopes: Sequence[bytes | None],
        *,
        key: bool = False,
        topic: str = "topic",
    ) -> list[bytes | Failed | None]:
        """The bytes that a converter makes of data for a topic."""
        told = list(map(as_base64, envelopes))
        return [_data(one) for one in self._ask("write", java_class, config, told, key=key, topic=topic)]

    def read(
        self, java_class: str, config: Mapping[str, str], records: Sequence[bytes | None], *, key: bool = False
    ) -> list[bytes | Failed | None]:
        """The data that a converter reads from bytes, as envelopes."""
        return [_data(one) for one in self._ask("read", java_class, config, list(map(as_base64, records)), key=key)]

    def header_written(
        self, java_class: str, config: Mapping[str, str], envelopes: Sequence[bytes | None]
    ) -> list[bytes | Failed | None]:
        """The bytes that a header converter makes of data."""
        return [_data(one) for one in self._ask("write header", java_class, config, list(map(as_base64, envelopes)))]

    def header_read(
        self, java_class: str, config: Mapping[str, str], headers: Sequence[bytes | None]
    ) -> list[bytes | Failed | None]:
        """The data that a header converter reads from bytes, as envelopes."""
        return [_data(one) for one in self._ask("read header", java_class, config, list(map(as_base64, headers)))]

    def _ask(self, what: str, java_class: str, config: Mapping[str, str], records: list[Any], **more: Any) -> Any:
        answer = self.ask({"do": what, "class": java_class, "config": dict(config), "records": records, **more})
        if isinstance(answer, dict):  # the plugin could not be made or configured: so for each record
            return [answer] * len(records)
        return answer


class JavaProcess:
    """Starts a JVM at the first question; a context manager that ends it. One caller at a time.

    Args:
        more: Sets of jars behind those of Kafka Connect.
    """

    def __init__(self, *more: str) -> None:
        self._sets = ("java-connect", *more)
        self._process: subprocess.Popen[str] | None = None

    def ask(self, question: dict[str, Any]) -> Any:
        """Return the process's answer."""
        self._process = process = self._process or self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(question) + "\n")
        process.stdin.flush()
        return json.loads(process.stdout.readline())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process:
            assert self._process.stdin is not None
            with self._process:
                self._process.stdin.close()

    def _started(self) -> "subprocess.Popen[str]":
        jars = os.pathsep.join(str(jar) for name in self._sets for jar in resolve(name))
        command = [str(find_java()), "-Duser.timezone=UTC", "-Xmx256m", "-cp", jars, str(_PROGRAM)]
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        )


def _told(record: Record) -> dict[str, Any]:
    return {
        "topic": record.topic,
        "partition": record.partition,
        "timestamp": record.timestamp,
        "offset": record.offset,
        "key": as_base64(record.key),
        "value": as_base64(record.value),
        "headers": [[key, as_base64(value)] for key, value in record.headers],
    }


def _answer(found: Mapping[str, Any], before: Record) -> Record | Failed | None:
    if "error" in found:
        return Failed(found["error"], found["message"])
    if "dropped" in found:
        return None
    return Record(
        value=from_base64(found["value"]),
        key=from_base64(found["key"]),
        topic=found["topic"],
        partition=found["partition"],
        timestamp=found["timestamp"],
        offset=before.offset,
        headers=tuple((key, from_base64(value)) for key, value in found["headers"]),
    )


def _data(found: Mapping[str, Any]) -> bytes | Failed | None:
    return Failed(found["error"], found["message"]) if "error" in found else from_base64(found["data"])


def as_base64(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


def from_base64(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)
