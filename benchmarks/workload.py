"""The moved data: an access log as nginx writes it, and the expected content of a topic.

Knows nothing of workers and brokers.
"""

import hashlib
import os
import random
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path

_BLOCK_BYTES = 1 << 22
_TAIL_BYTES = 4096
_SEED = 1
_DAY = "21/Nov/2026"
_PATHS = ("/", "/products/{n}", "/cart/{n}", "/search?q={n}", "/static/app.{n}.js")
_STATUSES = (200, 200, 200, 200, 200, 304, 404, 500)
_AGENTS = ("Mozilla/5.0 (X11)", "curl/8.14.1", "Googlebot/2.1")


class Format(Enum):
    """The converter settings of both sides; the value is the name in the table."""

    JSON = "json"
    STRING = "string"
    AVRO = "avro"

    @property
    def converter(self) -> str:
        """Return the class of the worker's converter for keys and values, at its defaults: JSON comes with its schema.

        For Avro the connectors configure their converters.
        """
        if self is not Format.STRING:
            return "org.apache.kafka.connect.json.JsonConverter"
        return "org.apache.kafka.connect.storage.StringConverter"

    def encode(self, lines: bytes) -> bytes:
        r"""Return Kafka Connect's values of lines, each with a ``\n`` after it as the lines have."""
        if self is Format.STRING:
            return lines
        if self is Format.AVRO:
            raise ValueError("the bytes of Avro depend on the ids of a registry")
        head, tail = b'{"schema":{"type":"string","optional":false},"payload":"', b'"}'
        escaped = lines.removesuffix(b"\n").replace(b"\\", b"\\\\").replace(b'"', b'\\"')
        return head + escaped.replace(b"\n", tail + b"\n" + head) + tail + b"\n"


PLAIN = (Format.JSON, Format.STRING)
"""Those in which whole lines are moved as they are."""


@dataclass(frozen=True, slots=True)
class LogFile:
    """One file of whole lines."""

    path: Path
    lines: int

    @property
    def size(self) -> int:
        """Return its size in bytes."""
        return self.path.stat().st_size

    def blocks(self) -> Iterator[bytes]:
        """Return its content, cut after newlines."""
        with self.path.open("rb") as file:
            while block := file.read(_BLOCK_BYTES):
                yield block + file.readline()

    def last_value(self, form: Format) -> bytes:
        """Return the value of its last line in this format."""
        with self.path.open("rb") as file:
            file.seek(-min(self.size, _TAIL_BYTES), os.SEEK_END)
            return form.encode(file.read().splitlines(keepends=True)[-1]).removesuffix(b"\n")

    def digest(self, form: Format = Format.STRING) -> str:
        """Return a hash of the values of its lines in this format; for strings that of the file's own bytes."""
        return _digest(self, form)


class Workload:
    """The access log, whole and in parts of the same size.

    Args:
        folder: for the files.
        lines: in all files of one division together.
    """

    def __init__(self, folder: Path, lines: int) -> None:
        self.folder = folder
        self.lines = lines
        self._divisions: dict[int, list[LogFile]] = {}

    def files(self, parts: int) -> list[LogFile]:
        """Return the log in ``parts`` files, written on first use."""
        if parts not in self._divisions:
            self._divisions[parts] = [self._write(parts, number) for number in range(parts)]
        return self._divisions[parts]

    def _write(self, parts: int, number: int) -> LogFile:
        count = self.lines // parts + (number < self.lines % parts)
        path = self.folder / f"access-{parts}-{number}.log"
        with path.open("w") as file:
            file.writelines(access_log(count, _SEED + number))
        return LogFile(path, count)


def access_log(count: int, seed: int) -> Iterator[str]:
    """Yield lines of about 103 bytes with their newline, the same ones for the same seed."""
    chance = random.Random(seed)
    for number in range(count):
        second = number // 500
        time = f"{_DAY}:{second // 3600 % 24:02}:{second // 60 % 60:02}:{second % 60:02} +0000"
        drawn = chance.getrandbits(32)
        client = f"203.0.{drawn & 127}.{drawn >> 7 & 255}"
        path = _PATHS[drawn % len(_PATHS)].format(n=number)
        status, agent = _STATUSES[drawn % len(_STATUSES)], _AGENTS[drawn % len(_AGENTS)]
        yield f'{client} - - [{time}] "GET {path} HTTP/1.1" {status} {drawn % 19_991} "-" "{agent}"\n'


@cache
def _digest(file: LogFile, form: Format) -> str:
    sha = hashlib.sha256()
    for block in file.blocks():
        sha.update(form.encode(block))
    return sha.hexdigest()
