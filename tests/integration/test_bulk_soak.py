"""An hour of bulk through one worker, from a file to a topic to a pipe: its memory, files and threads stay level."""

import fcntl
import hashlib
import os
import select
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import psutil
import pytest

from connect_dagster.embedded.broker import EmbeddedBroker
from tests.integration.worker_process import WorkerProcess

MINUTES = 60.0
SAMPLE_SECONDS = 10.0
MEGABYTE = 1 << 20
# So much is written ahead of the pipe, and so much the file has before another takes its place.
AHEAD, FILE = 64 * MEGABYTE, 512 * MEGABYTE
BLOCK_LINES = 50_000
# The broker deletes as fast as the worker writes.
BROKER = {
    "log.retention.bytes": str(512 * MEGABYTE),
    "log.segment.bytes": str(128 * MEGABYTE),
    "log.retention.check.interval.ms": "5000",
    "log.segment.delete.delay.ms": "1000",
}
STRING = "org.apache.kafka.connect.storage.StringConverter"
LEVEL = 1.1
MEASURES = ("memory of the JVM, MB", "memory of Python, MB", "descriptors", "threads")


@dataclass
class Bytes:
    """Bytes that have come by, with their hash."""

    size: int = 0
    sha: "hashlib._Hash" = field(default_factory=hashlib.sha256)

    def add(self, data: bytes) -> None:
        """Count some."""
        self.size += len(data)
        self.sha.update(data)


@pytest.mark.soak
@pytest.mark.timeout(MINUTES * 60 + 600)
def test_an_hour_of_bulk_leaves_memory_level(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, pipe = tmp_path / "lines.txt", tmp_path / "pipe"
    file.touch()
    os.mkfifo(pipe)
    source = {"connector.class": "FileStreamSource", "file": str(file), "topic": "lines", "value.converter": STRING}
    sink = {"connector.class": "FileStreamSink", "file": str(pipe), "topics": "lines", "value.converter": STRING}
    with EmbeddedBroker(tmp_path / "broker", 0, settings=BROKER, jvm=()) as broker:
        props = {"bootstrap.servers": broker.bootstrap_servers, "offset.flush.interval.ms": "10000"}
        with WorkerProcess(props, [], tmp_path / "worker", jvm={}) as worker:
            for name, config in (("source", source), ("sink", sink)):
                assert worker.call("PUT", f"/connectors/{name}/config", config).status == 201
            written, read, samples = _run(file, pipe, worker)
            log = worker.log()
    rows = dict(zip(MEASURES, zip(*samples, strict=True), strict=True))
    with capsys.disabled():
        print(f"\n{read.size / MEGABYTE / MINUTES / 60:.0f} MB/s for {MINUTES:g} minutes")  # noqa: T201
        for measure, figures in rows.items():
            print(f"{measure}: {_summary(figures)}")  # noqa: T201
    assert (read.size, read.sha.digest()) == (written.size, written.sha.digest())
    assert "ERROR" not in log
    for measure, figures in rows.items():
        _, second, *_, last = _quarters(figures)
        assert max(last) <= LEVEL * max(second), measure


def _run(file: Path, pipe: Path, worker: WorkerProcess) -> tuple[Bytes, Bytes, list[tuple[float, ...]]]:
    written, read, blocks, samples = Bytes(), Bytes(), _blocks(), list[tuple[float, ...]]()
    outlet = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    fcntl.fcntl(outlet, fcntl.F_SETPIPE_SZ, MEGABYTE)
    end, next_sample = time.monotonic() + MINUTES * 60, time.monotonic()
    stuck = end
    while (now := time.monotonic()) < end or read.size < written.size:
        size = file.stat().st_size
        if now < end and size < FILE and written.size - read.size < AHEAD:
            block = next(blocks)
            with file.open("ab") as lines:
                lines.write(block)
            written.add(block)
        elif size >= FILE and read.size == written.size:
            file.rename(file.with_suffix(".1"))
            file.touch()
        if now >= next_sample:
            samples.append(_sample(worker.pid))
            next_sample += SAMPLE_SECONDS
        if select.select([outlet], [], [], 0.05)[0] and (data := os.read(outlet, MEGABYTE)):
            read.add(data)
            stuck = now + 60
        assert now < stuck, f"nothing came for a minute: {written.size - read.size} bytes are missing\n{worker.log()}"
    os.close(outlet)
    return written, read, samples


def _blocks() -> Iterator[bytes]:
    lines = (f"GET /products/{line * 7919 % 100_003} HTTP/1.1 200 {line}\n" for line in range(BLOCK_LINES))
    same = "".join(lines).encode()
    return (f"block {number}\n".encode() + same for number in count())


def _sample(pid: int) -> tuple[float, ...]:
    """Return the figures of ``MEASURES``."""
    python = psutil.Process(pid)
    (jvm,) = (child for child in python.children(recursive=True) if child.name() == "java")
    memory = (one.memory_info().rss / MEGABYTE for one in (jvm, python))
    return *memory, jvm.num_fds() + python.num_fds(), jvm.num_threads() + python.num_threads()


def _quarters(figures: tuple[float, ...]) -> list[tuple[float, ...]]:
    length = len(figures) // 4
    return [figures[start * length : (start + 1) * length] for start in range(4)]


def _summary(figures: tuple[float, ...]) -> str:
    """Return the ranges of the quarters, and the slope from the second one on."""
    level = figures[len(figures) // 4 :]
    slope, _ = statistics.linear_regression([at * SAMPLE_SECONDS / 3600 for at in range(len(level))], level)
    quarters = ", ".join(f"{min(each):.0f}–{max(each):.0f}" for each in _quarters(figures))
    return f"{quarters}; {slope:+.1f} an hour"
