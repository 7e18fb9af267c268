"""A table whose rows grow from 100 bytes to 1 MB within one batch, in a worker with the usual heap of 1 GB."""

import sqlite3
from pathlib import Path

import pytest

from tests.conftest import Broker
from tests.integration import topics
from tests.integration.jdbc.sqlite_source import plugin_path, source
from tests.integration.sink.kafka_topics import Topics
from tests.integration.source.test_big_file import resident
from tests.integration.worker_process import WorkerProcess

MEGABYTE = 1 << 20
SMALL, LARGE = 1000, 600


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_rows_that_grow_fit_into_a_gigabyte(
    broker: Broker, topic_prefix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Failed at 988389f: the task, by Arrow's OutOfMemoryException."""
    file, topic = tmp_path / "shop.db", f"{topic_prefix}things"
    Topics(broker.bootstrap_servers).create(topic, 1, {"max.message.bytes": str(2 * MEGABYTE)})
    with sqlite3.connect(file) as database:
        database.execute("CREATE TABLE things (id INTEGER PRIMARY KEY, name TEXT NOT NULL)")
        database.executemany("INSERT INTO things VALUES (?, ?)", ((one, "x" * 100) for one in range(SMALL)))
        sizes = ((SMALL + one, "x" * 1_000_000) for one in range(LARGE))
        database.executemany("INSERT INTO things VALUES (?, ?)", sizes)
    props = {
        "bootstrap.servers": broker.bootstrap_servers,
        "plugin.path": plugin_path(tmp_path),
        "producer.max.request.size": str(2 * MEGABYTE),
    }
    peak = 0
    with WorkerProcess(props, [], tmp_path / "worker", jvm={}) as worker:
        assert worker.call("PUT", f"/connectors/{topic_prefix}/config", source(file, topic_prefix)).status == 201

        def all_arrived() -> bool:
            nonlocal peak
            peak = max(peak, resident(worker.pid))
            return topics.size(broker.bootstrap_servers, topic) >= SMALL + LARGE

        worker.wait_until(all_arrived, "send all rows", 1200)
        log = worker.log()
    with capsys.disabled():
        print(f"\n{LARGE} rows of 1 MB: peak {peak / MEGABYTE:.0f} MB resident in worker and JVM")  # noqa: T201
    assert "OutOfMemory" not in log
    assert "goes through the disk" in log
