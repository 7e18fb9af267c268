"""A standalone worker that is killed and started again, and its offsets file."""

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.conftest import Broker
from tests.databases import Database
from tests.integration import topics
from tests.integration.jdbc.test_seed_modes import orders, products
from tests.integration.worker_process import WorkerProcess, write_properties

pytestmark = pytest.mark.nightly

ROWS = 3_000


def sequence_numbers(broker: Broker, topic: str) -> Counter[int]:
    found = topics.read_topic(broker.bootstrap_servers, topic, topics.size(broker.bootstrap_servers, topic))
    return Counter(json.loads(one.value() or b"{}")["payload"]["seq"] for one in found)


@pytest.mark.usefixtures("kafkadb")
def test_s5_16_s5_23_killed_among_rows_of_one_time_then_reset(
    broker: Broker, kafkadb: Database, topic_prefix: str, tmp_path: Path
) -> None:
    kafkadb.execute(
        f"INSERT INTO products SELECT seq, 'p', NOW(), '2022-01-23 02:26:25' FROM seq_1_to_{ROWS}",
        "INSERT INTO orders VALUES (1, 'a', 'b')",
    )
    slow = {"name": "products", **products(kafkadb, topic_prefix, batch_max_rows="100")}
    other = {"name": "orders", **orders(kafkadb, topic_prefix)}
    files = [write_properties(tmp_path / f"{config['name']}.properties", config) for config in (slow, other)]
    props = {"bootstrap.servers": broker.bootstrap_servers, "offset.flush.interval.ms": "200"}
    worker = WorkerProcess(props, files, tmp_path / "worker")
    topic, second = f"{topic_prefix}products", f"{topic_prefix}orders"

    worker.start()
    topics.read_topic(broker.bootstrap_servers, topic, 300)
    worker.wait_until(lambda: b"snapshot" in offsets_file(worker), "note where it is", 30)
    worker.kill()
    assert topics.size(broker.bootstrap_servers, topic) < ROWS

    with worker:
        worker.wait_log("Going on with a large read of `kafkadb`.`products` after seq")
        worker.wait_until(lambda: done(worker), "read all", 60)
        worker.wait_until(lambda: offsets_of(worker, "orders") == [{"incrementing": 1}], "read orders", 30)
    assert sequence_numbers(broker, topic).keys() == set(range(1, ROWS + 1))

    Path(worker.props["offset.storage.file.filename"]).unlink()
    sent = topics.size(broker.bootstrap_servers, topic)
    with worker:
        again = topics.read_topic(broker.bootstrap_servers, topic, sent + 100)[sent:]
        assert [json.loads(one.value() or b"{}")["payload"]["seq"] for one in again] == list(range(1, 101))
        topics.read_topic(broker.bootstrap_servers, second, 2, timeout=20)


def offsets_file(worker: WorkerProcess) -> bytes:
    file = Path(worker.props["offset.storage.file.filename"])
    return file.read_bytes() if file.exists() else b""


def offsets_of(worker: WorkerProcess, name: str) -> list[dict[str, int]]:
    return [one["offset"] for one in worker.call("GET", f"/connectors/{name}/offsets").json["offsets"]]


def done(worker: WorkerProcess) -> bool:
    return offsets_of(worker, "products") == [{"timestamp": 1642904785000, "timestamp_nanos": 0}]
