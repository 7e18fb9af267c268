"""Kills, brokers that go away, delayed acknowledgements: nothing is lost."""

import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from connect_dagster.embedded.broker import EmbeddedBroker
from tests.conftest import Broker
from tests.integration import topics
from tests.integration.worker_process import WorkerProcess, write_properties

pytestmark = pytest.mark.nightly

LINES, LINE_BYTES = 200_000, 98
START_SECONDS = 150
STRING = "org.apache.kafka.connect.storage.StringConverter"


def file_worker(bootstrap_servers: str, workdir: Path, topic: str, **props: str) -> WorkerProcess:
    """A worker that sends `lines.txt`; the connector goes by the name of the topic."""
    config = {"name": topic, "connector.class": "FileStreamSource", "topic": topic, "value.converter": STRING}
    source = write_properties(workdir / "source.properties", {**config, "file": str(workdir / "lines.txt")})
    given = {key.replace("_", "."): value for key, value in props.items()}
    return WorkerProcess({"bootstrap.servers": bootstrap_servers, **given}, [source], workdir / "worker")


def committed(worker: WorkerProcess, connector: str) -> int:
    offsets = worker.call("GET", f"/connectors/{connector}/offsets").json["offsets"]
    return int(offsets[0]["offset"]["position"]) if offsets else 0


def append(file: Path, texts: list[str]) -> int:
    """Append lines; answers the file's new size."""
    with file.open("a") as out:
        out.writelines(f"{text}\n" for text in texts)
    return file.stat().st_size


def test_s1_17_a_killed_worker_loses_no_line(
    broker: Broker, topic_prefix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    duplicates = kill_while_lines_come(broker, f"{topic_prefix}t", tmp_path, kills=1)
    say(capsys, f"1 kill, {LINES} lines: {duplicates} duplicates")


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_s1_17_twenty_kills_lose_no_line(
    broker: Broker, topic_prefix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    duplicates = kill_while_lines_come(broker, f"{topic_prefix}t", tmp_path, kills=20)
    say(capsys, f"20 kills, {LINES} lines: {duplicates} duplicates")


def kill_while_lines_come(broker: Broker, topic: str, tmp_path: Path, kills: int) -> int:
    """Kill the worker at random moments; answers how many records came more than once."""
    file, chosen = tmp_path / "lines.txt", random.Random(kills)
    lines = [f"{number:06} {'x' * 90}" for number in range(LINES)]
    shares = [lines[start : start + -(-LINES // kills)] for start in range(0, LINES, -(-LINES // kills))]
    worker = file_worker(broker.bootstrap_servers, tmp_path, topic, offset_flush_interval_ms="200")
    for share in shares:
        worker.start()
        worker.wait_ready(START_SECONDS)
        before = file.stat().st_size if file.exists() else 0
        writer = threading.Thread(target=write_slowly, args=(file, share))
        writer.start()
        wait_for_position(worker, topic, before + chosen.randrange(len(share) * 2 // 3) * LINE_BYTES)
        kill_with_its_children_watched(worker)
        writer.join(60)
    worker.start()
    worker.wait_ready(START_SECONDS)
    wait_for_position(worker, topic, file.stat().st_size)
    found = Counter(topics.values(broker.bootstrap_servers, topic, topics.size(broker.bootstrap_servers, topic), 180))
    worker.stop()
    assert set(found) == set(lines)
    return found.total() - LINES


def wait_for_position(worker: WorkerProcess, connector: str, position: int) -> None:
    worker.wait_until(lambda: committed(worker, connector) >= position, f"commit {position}", 180)


def write_slowly(file: Path, lines: list[str]) -> None:
    pause = threading.Event()
    for start in range(0, len(lines), 5000):
        append(file, lines[start : start + 5000])
        pause.wait(0.05)


def kill_with_its_children_watched(worker: WorkerProcess) -> None:
    """Kill the worker and see its JVM go."""
    children = psutil.Process(worker.pid).children(recursive=True)
    assert any("java" in child.name() for child in children)
    worker.kill()
    _, alive = psutil.wait_procs(children, timeout=30)
    assert alive == []


def test_s1_46_what_is_not_acknowledged_is_not_committed(own_broker: EmbeddedBroker, tmp_path: Path) -> None:
    file = tmp_path / "lines.txt"
    first = append(file, [f"first {number}" for number in range(100)])
    worker = file_worker(own_broker.bootstrap_servers, tmp_path, "t", offset_flush_interval_ms="3000")
    with worker:
        worker.wait_until(lambda: committed(worker, "t") == first, "commit the first lines", 60)
        own_broker.pause()
        second = append(file, [f"second {number}" for number in range(100)])
        elapsed = clock()
        worker.wait_until(lambda: elapsed() > 5, "go past an interval", 30)
        assert committed(worker, "t") == first
        assert states(worker, "t") == ["RUNNING", "RUNNING"]
        resumed = threading.Timer(1, own_broker.resume)
        resumed.start()
        assert worker.stop() == 0  # gracefully: waits for the acknowledgements, then commits for the last time
        resumed.join()
    with worker:
        worker.wait_states("t", "RUNNING", "RUNNING")
        assert committed(worker, "t") == second
        third = append(file, ["third"])
        worker.wait_until(lambda: committed(worker, "t") == third, "commit the third line", 60)
    found = topics.values(own_broker.bootstrap_servers, "t", 201)
    assert found == file.read_text().splitlines()
    assert topics.size(own_broker.bootstrap_servers, "t") == 201


def test_a_broker_killed_in_mid_stream(
    own_broker: EmbeddedBroker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, seen = tmp_path / "lines.txt", set[str]()

    def reached(condition: bool) -> bool:
        seen.update(states(worker, "t"))
        return condition

    lines = [f"{number:06} {'y' * 60}" for number in range(60_000)]
    append(file, lines[:20_000])
    with file_worker(own_broker.bootstrap_servers, tmp_path, "t") as worker:
        worker.wait_until(lambda: committed(worker, "t") > 0, "commit something", 60)
        own_broker.kill()
        append(file, lines[20_000:40_000])
        elapsed = clock()
        worker.wait_until(lambda: reached(elapsed() > 5), "go on without a broker", 30)
        own_broker.start()
        size = append(file, lines[40_000:])
        worker.wait_until(lambda: reached(committed(worker, "t") == size), "deliver all lines", 120)
        assert seen == {"RUNNING"}
        count = topics.size(own_broker.bootstrap_servers, "t")
        found = Counter(topics.values(own_broker.bootstrap_servers, "t", count, 120))
        assert set(found) == set(lines)
        say(capsys, f"a broker killed, {len(lines)} lines: {found.total() - len(lines)} duplicates")
        refused = [line for line in worker.log().splitlines() if "Connection refused" in line]
        assert refused, "the log says what is wrong"
        assert all("] WARN " in line for line in refused)
        assert len(refused) < 20


def test_s1_14_settings_by_prefix(own_broker: EmbeddedBroker, tmp_path: Path) -> None:
    append(tmp_path / "lines.txt", [f"line {number}" for number in range(1000)])
    prefixed = {
        "producer.compression.type": "gzip",
        "consumer.max.poll.records": "1",
        "admin.request.timeout.ms": "5000",
    }
    sink = {"connector.class": "FileStreamSink", "file": str(tmp_path / "out.txt"), "topics": "small"}
    topics.create(own_broker.bootstrap_servers, "small", 1)
    worker = file_worker(own_broker.bootstrap_servers, tmp_path, "t", **prefixed)
    with worker:
        assert worker.call("PUT", "/connectors/out/config", {"name": "out", **sink}).status == 201
        worker.wait_states("out", "RUNNING", "RUNNING")
        worker.wait_until(lambda: committed(worker, "t") > 0, "deliver", 60)
        assert GZIP in codecs(own_broker, "t")  # librdkafka sends a batch as it is where gzip would not shrink it
        assert "supplied but are not used" not in worker.log()
        own_broker.pause()
        elapsed = clock()
        answer = worker.call("GET", "/connectors/out/offsets")
        own_broker.resume()
        assert answer.status == 500
        assert "Failed to retrieve consumer group offsets for connector out" in answer.message
        assert 4 < elapsed() < 15


GZIP = 1
BATCH_HEADER = 61


def codecs(broker: EmbeddedBroker, topic: str) -> set[int]:
    """Compression of the batches in a topic's first segment (Kafka: `DefaultRecordBatch`)."""
    data = (broker.data_dir / "data" / f"{topic}-0" / f"{0:020}.log").read_bytes()
    found, start = set(), 0
    while start + BATCH_HEADER <= len(data) and int.from_bytes(data[start + 8 : start + 12]):
        found.add(int.from_bytes(data[start + 21 : start + 23]) & 7)
        start += 12 + int.from_bytes(data[start + 8 : start + 12])
    return found


def states(worker: WorkerProcess, connector: str) -> list[str]:
    status = json.loads(worker.call("GET", f"/connectors/{connector}/status").body)
    return [part["state"] for part in (status["connector"], *status["tasks"])]


def say(capsys: pytest.CaptureFixture[str], text: str) -> None:
    """Print past pytest's capture."""
    with capsys.disabled():
        print(f"\n{text}")  # noqa: T201


def clock() -> Callable[[], float]:
    """Seconds since now."""
    began = time.monotonic()
    return lambda: time.monotonic() - began
