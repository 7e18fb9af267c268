"""An access log that grows and is rotated, through Kafka into a file."""

import threading
from pathlib import Path

from tests.integration.source.conftest import SourceWorker

LINES = 10_000
LINE = '127.0.0.1 - - [20/Nov/2026:01:02:03 +0000] "GET /{} HTTP/1.1" 200 612 "-" "curl/7.81.0"'


def test_s1_09_every_line_arrives_once_across_a_rotation(
    worker: SourceWorker, topic_prefix: str, tmp_path: Path
) -> None:
    log, out, topic = tmp_path / "access.log", tmp_path / "access.log.sink", f"{topic_prefix}nginx-accesslog"
    lines = [LINE.format(number) for number in range(LINES)]
    log.touch()
    worker.create_file_source(
        topic, log, topic, **{"value.converter": "org.apache.kafka.connect.storage.StringConverter"}
    )
    sink = {"connector.class": "FileStreamSink", "file": str(out), "topics": topic}
    sink["value.converter"] = "org.apache.kafka.connect.storage.StringConverter"
    worker.create(f"{topic_prefix}sink", sink)
    writer = threading.Thread(target=write_and_rotate, args=(log, lines))
    writer.start()
    writer.join(60)
    worker.process.wait_until(lambda: out.read_text().count("\n") >= LINES, "write all lines", 90)
    assert out.read_text().splitlines() == lines
    assert worker.values(topic, LINES) == lines
    assert worker.size(topic) == LINES
    worker.wait_position(topic, log, log.stat().st_size)


def write_and_rotate(log: Path, lines: list[str]) -> None:
    """Write as nginx does under logrotate: renamed in the middle, the old file written on until the reopening."""
    middle, pause = len(lines) // 2, threading.Event()
    old = log.open("a", buffering=1)
    for number, line in enumerate(lines[: middle + 500]):
        old.write(f"{line}\n")
        if number == middle:
            log.rename(log.with_suffix(".log.1"))
        if number % 500 == 0:
            pause.wait(0.05)
    log.touch()
    old.close()
    with log.open("a", buffering=1) as new:
        for number, line in enumerate(lines[middle + 500 :]):
            new.write(f"{line}\n")
            if number % 500 == 0:
                pause.wait(0.05)
