"""A gigabyte through a worker with a small heap: memory stays bounded."""

from pathlib import Path

import psutil
import pytest

from tests.conftest import Broker
from tests.integration import topics
from tests.integration.worker_process import WorkerProcess, write_properties

GIGABYTE = 1 << 30
LINE = b"x" * 1023 + b"\n"
MOST_BYTES = 3 << 30


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_a_gigabyte_in_bounded_memory(
    broker: Broker, topic_prefix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, topic = tmp_path / "big.txt", f"{topic_prefix}t"
    with file.open("wb") as out:
        for _ in range(GIGABYTE // (1 << 20)):
            out.write(LINE * 1024)
    string = "org.apache.kafka.connect.storage.StringConverter"
    connector = {"name": topic, "connector.class": "FileStreamSource", "file": str(file), "topic": topic}
    source = write_properties(tmp_path / "source.properties", {**connector, "value.converter": string})
    peak = 0
    with WorkerProcess({"bootstrap.servers": broker.bootstrap_servers}, [source], tmp_path / "worker") as worker:

        def committed_all() -> bool:
            nonlocal peak
            peak = max(peak, resident(worker.pid))
            offsets = worker.call("GET", f"/connectors/{topic}/offsets").json["offsets"]
            return bool(offsets) and offsets[0]["offset"]["position"] == GIGABYTE

        worker.wait_until(committed_all, "send a gigabyte", 1200)
    with capsys.disabled():
        print(f"\n1 GB: peak {peak / (1 << 20):.0f} MB resident in worker and JVM")  # noqa: T201
    assert topics.size(broker.bootstrap_servers, topic) == GIGABYTE // len(LINE)
    assert peak < MOST_BYTES


def resident(pid: int) -> int:
    """Bytes in memory of a process and its children."""
    worker = psutil.Process(pid)
    return sum(one.memory_info().rss for one in (worker, *worker.children(recursive=True)))
