"""A worker whose Spark runs on a standalone cluster: files, tables and topics as with a local master."""

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Broker
from tests.databases import Database
from tests.integration import topics
from tests.integration.worker_process import WorkerProcess
from tests.spark_cluster import SparkCluster

pytestmark = pytest.mark.nightly

PLUGINS = Path(__file__).with_name("plugins")
NUMBERED = Path(__file__).parents[2] / "campaign" / "plugins"
GUIDE = (Path(__file__).parents[3] / "docs" / "spark_cluster.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    with SparkCluster(tmp_path_factory.mktemp("spark")) as made:
        yield made


def settings(cluster: SparkCluster, broker: Broker, **own: str) -> dict[str, str]:
    """Return the properties of a worker on the cluster."""
    return {
        "bootstrap.servers": broker.bootstrap_servers,
        "spark.master": cluster.url,
        "spark.executor.memory": "512m",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        **own,
    }


@pytest.fixture
def worker(cluster: SparkCluster, broker: Broker, tmp_path: Path) -> Iterator[WorkerProcess]:
    with WorkerProcess(settings(cluster, broker), [], tmp_path / "worker") as made:
        yield made


def test_a_file_to_a_topic_and_back(
    cluster: SparkCluster, worker: WorkerProcess, broker: Broker, topic_prefix: str, tmp_path: Path
) -> None:
    file, copy, topic = tmp_path / "lines", tmp_path / "copy", f"{topic_prefix}lines"
    lines = [f"line {number}" for number in range(50_000)]
    file.write_text("".join(f"{line}\n" for line in lines))
    source = {"connector.class": "FileStreamSource", "tasks.max": "1", "file": str(file), "topic": topic}
    sink = {"connector.class": "FileStreamSink", "tasks.max": "1", "file": str(copy), "topics": topic}
    assert worker.call("PUT", "/connectors/source/config", source).status == 201
    worker.wait_until(lambda: topics.size(broker.bootstrap_servers, topic) == len(lines), "send all lines", 120)
    assert worker.call("PUT", "/connectors/sink/config", sink).status == 201
    worker.wait_until(lambda: copy.exists() and copy.read_text().count("\n") >= len(lines), "write all lines", 120)
    assert copy.read_text().splitlines() == lines
    assert cluster.executors()


def fill(database: Database, rows: int) -> None:
    database.execute(
        "CREATE TABLE products (seq INT PRIMARY KEY, name VARCHAR(50) NOT NULL)",
        f"INSERT INTO products SELECT seq, CONCAT('product ', seq) FROM seq_1_to_{rows}",
    )


def table_source(database: Database, topic_prefix: str, **more: str) -> dict[str, str]:
    return {
        "connector.class": "io.confluent.connect.jdbc.JdbcSourceConnector",
        "tasks.max": "1",
        **database.connection_config,
        "mode": "incrementing",
        "incrementing.column.name": "seq",
        "table.whitelist": "products",
        "topic.prefix": topic_prefix,
        "poll.interval.ms": "500",
        **more,
    }


def payloads(broker: Broker, topic: str) -> list[Any]:
    count = topics.size(broker.bootstrap_servers, topic)
    return [
        json.loads(one.value() or b"")["payload"] for one in topics.read_topic(broker.bootstrap_servers, topic, count)
    ]


def sent(broker: Broker, topic: str) -> set[int]:
    """Return the keys of the rows in a topic, which may have some twice."""
    return {one["seq"] for one in payloads(broker, topic)}


def test_a_table_to_a_topic(
    cluster: SparkCluster, worker: WorkerProcess, broker: Broker, topic_prefix: str, mariadb_database: Database
) -> None:
    rows, topic = 30_000, f"{topic_prefix}products"
    fill(mariadb_database, rows)
    source = table_source(mariadb_database, topic_prefix)
    assert worker.call("PUT", "/connectors/source/config", source).status == 201
    worker.wait_until(lambda: topics.size(broker.bootstrap_servers, topic) >= rows, "send all rows", 120)
    found = sorted(payloads(broker, topic), key=lambda row: int(row["seq"]))  # two Spark tasks write side by side
    assert found == [{"seq": number, "name": f"product {number}"} for number in range(1, rows + 1)]
    assert "ProducerConfig" in cluster.log(), "executors have sent them"
    assert "this worker tries" not in worker.log()


def test_a_topic_to_a_table(
    worker: WorkerProcess, broker: Broker, topic_prefix: str, mariadb_database: Database
) -> None:
    rows, topic = 5_000, f"{topic_prefix}products"
    fill(mariadb_database, rows)
    sink = {
        "connector.class": "io.confluent.connect.jdbc.JdbcSinkConnector",
        "tasks.max": "1",
        **mariadb_database.connection_config,
        "topics": topic,
        "table.name.format": "copies",
        "auto.create": "true",
        "insert.mode": "upsert",
        "pk.mode": "record_value",
        "pk.fields": "seq",
    }
    assert worker.call("PUT", "/connectors/source/config", table_source(mariadb_database, topic_prefix)).status == 201
    worker.wait_until(lambda: topics.size(broker.bootstrap_servers, topic) >= rows, "send all rows", 120)
    assert worker.call("PUT", "/connectors/sink/config", sink).status == 201
    counted = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'copies'"
    worker.wait_until(lambda: mariadb_database.query(counted) == [(1,)], "create the table", 120)
    copies = "SELECT COUNT(*) FROM copies JOIN products USING (seq, name)"
    worker.wait_until(lambda: mariadb_database.query(copies) == [(rows,)], "write all rows", 120)


def test_plugins(cluster: SparkCluster, broker: Broker, topic_prefix: str, tmp_path: Path) -> None:
    """One whose frames executors make in Python, one that gives records, one that takes them in the worker."""
    numbers, upto, copy = f"{topic_prefix}numbers", tmp_path / "upto", tmp_path / "copy"
    upto.write_text("2000")
    connectors = {
        "squares": {"connector.class": "SquaresSource", "topic": f"{topic_prefix}squares", "count": "20000"},
        "numbers": {"connector.class": "NumberedSource", "topic": numbers, "upto": str(upto)},
        "copy": {"connector.class": "NumberedSink", "topics": numbers, "file": str(copy)},
    }
    own = settings(cluster, broker, **{"plugin.path": f"{PLUGINS},{NUMBERED}"})
    with WorkerProcess(own, [], tmp_path / "worker") as worker:
        for name, config in connectors.items():
            assert worker.call("PUT", f"/connectors/{name}/config", {"tasks.max": "1", **config}).status == 201
        worker.wait_until(
            lambda: topics.size(broker.bootstrap_servers, f"{topic_prefix}squares") >= 20_000, "send all squares", 120
        )
        worker.wait_until(lambda: copy.exists() and copy.read_text().count(";") >= 2_000, "copy all numbers", 120)
        assert "this worker tries" not in worker.log()
    assert sorted(payloads(broker, f"{topic_prefix}squares")) == [number * number for number in range(20_000)]
    assert sorted(copy.read_text().splitlines()) == [f"n{number:012d};" for number in range(2_000)]


@pytest.mark.parametrize("victim", ["executor", "worker"])
def test_nothing_is_lost_with_a_part_of_the_cluster(
    cluster: SparkCluster,
    worker: WorkerProcess,
    broker: Broker,
    topic_prefix: str,
    mariadb_database: Database,
    victim: str,
) -> None:
    rows, topic = 300_000, f"{topic_prefix}products"
    fill(mariadb_database, rows)
    source = table_source(mariadb_database, topic_prefix)
    assert worker.call("PUT", "/connectors/source/config", source).status == 201
    worker.wait_until(lambda: topics.size(broker.bootstrap_servers, topic) >= rows // 10, "send some rows", 120)
    if victim == "executor":
        cluster.executors()[0].kill()
    else:
        cluster.kill_worker(0)
    everything = set(range(1, rows + 1))
    worker.wait_until(
        lambda: topics.size(broker.bootstrap_servers, topic) >= rows and sent(broker, topic) == everything,
        "send all rows",
        180,
    )
    assert worker.wait_states("source", "RUNNING", "RUNNING")


def test_records_that_kafka_rejects(
    worker: WorkerProcess, broker: Broker, topic_prefix: str, mariadb_database: Database
) -> None:
    rows, topic = 2_000, f"{topic_prefix}products"
    fill(mariadb_database, rows)
    mariadb_database.execute("ALTER TABLE products MODIFY name MEDIUMTEXT NOT NULL")
    mariadb_database.execute("UPDATE products SET name = REPEAT('x', 2000000) WHERE seq = 700")
    source = table_source(mariadb_database, topic_prefix, **{"errors.tolerance": "all"})
    assert worker.call("PUT", "/connectors/source/config", source).status == 201
    wanted = {*range(1, rows + 1)} - {700}
    worker.wait_until(lambda: sent(broker, topic) == wanted, "send all rows but one", 180)
    assert "this worker tries" in worker.log()
    assert worker.wait_states("source", "RUNNING", "RUNNING")


def test_a_worker_of_the_guide(
    cluster: SparkCluster, broker: Broker, topic_prefix: str, mariadb_database: Database, tmp_path: Path
) -> None:
    (block,) = re.findall(r"```properties\n(.*?)```", GUIDE, re.DOTALL)
    own = dict(line.split("=", 1) for line in block.splitlines())
    own |= {"bootstrap.servers": broker.bootstrap_servers, "spark.master": cluster.url, "spark.executor.memory": "512m"}
    fill(mariadb_database, 10)
    sink = {"connector.class": "FileStreamSink", "tasks.max": "1", "file": "", "topics": f"{topic_prefix}products"}
    with WorkerProcess(own, [], tmp_path / "worker") as worker:
        assert worker.call("PUT", "/connectors/rows/config", table_source(mariadb_database, topic_prefix)).status == 201
        assert worker.call("PUT", "/connectors/lines/config", sink).status == 201
        worker.wait_until(lambda: topics.size(broker.bootstrap_servers, sink["topics"]) == 10, "send all rows", 120)
        said = re.findall(r"(The records of task \S+ pass this worker)", worker.log())
    assert said == ["The records of task lines-0 pass this worker"]
    assert "The records of task … pass this worker" in GUIDE


def test_throughput_is_printed(
    cluster: SparkCluster,
    broker: Broker,
    topic_prefix: str,
    mariadb_database: Database,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = 300_000
    fill(mariadb_database, rows)
    for executors in ("1", "2"):
        prefix = f"{topic_prefix}{executors}-"
        own = settings(cluster, broker, **{"spark.cores.max": executors})
        with WorkerProcess(own, [], tmp_path / executors) as worker:
            source = table_source(mariadb_database, prefix)
            assert worker.call("PUT", "/connectors/source/config", source).status == 201
            first, began = 0, 0.0
            while (there := topics.size(broker.bootstrap_servers, f"{prefix}products")) < rows:
                if there and not first:
                    first, began = there, time.monotonic()
                time.sleep(0.2)
            seconds = time.monotonic() - began
        with capsys.disabled():
            print(f"\n{executors} executors: {(rows - first) / seconds:,.0f} rows/s after the first batch")  # noqa: T201
