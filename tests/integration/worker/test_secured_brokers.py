"""Workers on brokers that want a login or a certificate; overrides of clients; topics created as a connector says."""

import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from confluent_kafka import TopicCollection
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # they are public, but not said to be
    AdminClient,
    ConfigResource,
    ResourceType,
)

from connect_dagster.errors import ConnectError
from connect_dagster.kafka.access import Brokers
from connect_dagster.kafka.errors import BrokersError
from connect_dagster.kafka.groups import live_group
from connect_dagster.orchestration.observations.topic_offsets import fetch_topic_names
from tests.distributed_process import DistributedProcess, group_properties
from tests.integration.topics import create, values
from tests.integration.worker.secured_broker import SecuredBroker, for_all, secured_broker
from tests.integration.worker_process import WorkerProcess

pytestmark = pytest.mark.nightly

STRING = "org.apache.kafka.connect.storage.StringConverter"
STRINGS = {"key.converter": STRING, "value.converter": STRING}
WRONG = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="me" password="wrong";'
SECONDS = 120
NONE, GZIP, ZSTD = 0, 1, 4


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    with secured_broker(tmp_path_factory.mktemp("secured")) as made:
        yield made


def add(worker: WorkerProcess, name: str, config: Mapping[str, str]) -> None:
    answer = worker.call("PUT", f"/connectors/{name}/config", dict(config))
    assert answer.status == 201, answer.json


def source(topic: str, file: Path, **more: str) -> dict[str, str]:
    dotted = {name.replace("_", "."): value for name, value in more.items()}
    return {"connector.class": "FileStreamSource", "topic": topic, "file": str(file), **dotted}


def sink(topic: str, file: Path, **more: str) -> dict[str, str]:
    dotted = {name.replace("_", "."): value for name, value in more.items()}
    return {"connector.class": "FileStreamSink", "topics": topic, "file": str(file), **dotted}


def lines(file: Path) -> list[str]:
    return file.read_text().splitlines() if file.exists() else []


def compressions(secured: SecuredBroker, topic: str) -> set[int]:
    """Kinds of compression of the batches on the log: lowest bits of the attributes, which follow 21 bytes."""
    found: set[int] = set()
    for segment in (secured.broker.data_dir / "data").glob(f"{topic}-*/*.log"):
        content, at = segment.read_bytes(), 0
        while int.from_bytes(content[at + 8 : at + 12]):
            found.add(int.from_bytes(content[at + 21 : at + 23]) & 7)
            at += 12 + int.from_bytes(content[at + 8 : at + 12])
    return found


def test_s4_12_and_s4_13_all_clients_log_in(secured: SecuredBroker, tmp_path: Path, topic_prefix: str) -> None:
    plain, (servers, login) = secured.broker.bootstrap_servers, secured.login
    props = {"bootstrap.servers": servers, **for_all(login), **STRINGS, "producer.compression.type": "gzip"}
    small, made = f"{topic_prefix}gzip", f"{topic_prefix}zstd"
    (tmp_path / "in.txt").write_text("".join(f"line {number} line line line\n" for number in range(200)))
    with WorkerProcess(props, [], tmp_path / "worker") as worker:
        add(worker, "as-the-worker-says", source(small, tmp_path / "in.txt"))
        add(
            worker,
            "as-the-connector-says",
            source(
                made,
                tmp_path / "in.txt",
                producer_override_compression_type="zstd",
                topic_creation_groups="special",
                topic_creation_special_include=f"{topic_prefix}z.*",
                topic_creation_special_retention_ms="123456789",
                topic_creation_default_partitions="3",
                topic_creation_default_replication_factor="1",
            ),
        )
        add(worker, "begins-early", sink(small, tmp_path / "all.txt"))
        for topic in (small, made):
            assert len(values(plain, topic, 200, SECONDS)) == 200
        worker.wait_until(lambda: len(lines(tmp_path / "all.txt")) == 200, "write all lines", SECONDS)
        late = {"consumer_override_group_id": f"{topic_prefix}g1", "consumer_override_auto_offset_reset": "latest"}
        add(worker, "begins-late", sink(small, tmp_path / "late.txt", **late))
        worker.wait_states("begins-late", "RUNNING", "RUNNING", timeout=SECONDS)
        worker.wait_log("begins-late-0} Assigned", SECONDS)
        with (tmp_path / "in.txt").open("a") as more:
            more.write("later\n")
        worker.wait_until(lambda: bool(lines(tmp_path / "late.txt")), "write the late line", SECONDS)
        assert lines(tmp_path / "late.txt") == ["later"]
        log = worker.log()
    # A batch that compression does not make smaller, as the late line's, is sent as it is.
    assert (compressions(secured, small) - {NONE}, compressions(secured, made) - {NONE}) == ({GZIP}, {ZSTD})
    admin = AdminClient({"bootstrap.servers": plain})
    described = admin.describe_topics(TopicCollection([made, small]))
    assert [len(described[topic].result(30).partitions) for topic in (made, small)] == [3, 1]
    resource = ConfigResource(ResourceType.TOPIC, made)
    assert admin.describe_configs([resource])[resource].result(30)["retention.ms"].value == "123456789"
    groups = admin.list_consumer_groups().result(30).valid
    assert f"{topic_prefix}g1" in [group.group_id for group in groups]
    assert f"Creating topic '{made}'" in log
    assert f"Creating topic '{small}'" not in log


def test_s4_13_a_side_without_its_settings_fails_alone(
    secured: SecuredBroker, tmp_path: Path, topic_prefix: str
) -> None:
    plain, (servers, login) = secured.broker.bootstrap_servers, secured.login
    full = {"bootstrap.servers": servers, **for_all(login), **STRINGS}
    props = {name: value for name, value in full.items() if not name.startswith("producer.")}
    topic = f"{topic_prefix}t"
    (tmp_path / "in.txt").write_text("one\n")
    create(plain, topic, 1)
    with WorkerProcess(props, [], tmp_path / "worker") as worker:
        add(worker, "reads", sink(topic, tmp_path / "out.txt"))
        add(worker, "writes", source(f"{topic_prefix}never", tmp_path / "in.txt"))
        wrong = {"consumer_override_sasl_jaas_config": WRONG}
        add(worker, "is-refused", sink(topic, tmp_path / "refused.txt", **wrong))
        badly = _overrides("producer", {**login, "sasl.jaas.config": WRONG})
        add(worker, "is-refused-too", source(f"{topic_prefix}never", tmp_path / "in.txt", **badly))
        add(worker, "as-it-should", source(topic, tmp_path / "in.txt", **_overrides("producer", login)))
        worker.wait_until(lambda: lines(tmp_path / "out.txt") == ["one"], "write the line", SECONDS)
        status = worker.wait_states("is-refused", "RUNNING", "FAILED", timeout=SECONDS)
        assert "The brokers refuse client connector-consumer-is-refused-0: " in status["tasks"][0]["trace"]
        status = worker.wait_states("is-refused-too", "RUNNING", "FAILED", timeout=SECONDS)
        assert "The brokers refuse client connector-producer-is-refused-too-0: " in status["tasks"][0]["trace"]
        worker.wait_log("connector-producer-writes-0", SECONDS)
        worker.wait_states("reads", "RUNNING", "RUNNING")
    known = AdminClient({"bootstrap.servers": plain}).list_topics(timeout=30).topics
    assert f"{topic_prefix}never" not in known


def test_s4_13_consumers_without_their_settings_fail_alone(
    secured: SecuredBroker, tmp_path: Path, topic_prefix: str
) -> None:
    plain, (servers, login) = secured.broker.bootstrap_servers, secured.login
    full = {"bootstrap.servers": servers, **for_all(login), **STRINGS}
    props = {name: value for name, value in full.items() if not name.startswith("consumer.")}
    topic = f"{topic_prefix}t"
    (tmp_path / "in.txt").write_text("one\n")
    with WorkerProcess(props, [], tmp_path / "worker") as worker:
        add(worker, "writes", source(topic, tmp_path / "in.txt"))
        assert values(plain, topic, 1, SECONDS) == ["one"]
        add(worker, "reads", sink(topic, tmp_path / "out.txt"))
        worker.wait_log("connector-consumer-reads-0", SECONDS)
        add(worker, "as-it-should", sink(topic, tmp_path / "read.txt", **_overrides("consumer", login)))
        worker.wait_until(lambda: lines(tmp_path / "read.txt") == ["one"], "write the line", SECONDS)
        worker.wait_states("writes", "RUNNING", "RUNNING")
        assert lines(tmp_path / "out.txt") == []


def test_s4_13_a_worker_without_its_own_settings_does_not_start(
    secured: SecuredBroker, tmp_path: Path, topic_prefix: str
) -> None:
    servers, login = secured.login
    full = {"bootstrap.servers": servers, **for_all(login), **STRINGS, "default.api.timeout.ms": "5000"}
    props = {
        name: value for name, value in full.items() if name.startswith(("producer.", "consumer.")) or name not in login
    }
    worker = WorkerProcess(props, [], tmp_path / "worker")
    worker.start()
    assert worker.wait_exit(SECONDS) != 0
    assert "Failed to connect to and describe Kafka cluster" in worker.log()


def _overrides(client: str, settings: Mapping[str, str]) -> dict[str, str]:
    return {f"{client}.override.{name}": value for name, value in settings.items()}


def test_a_distributed_worker_shows_its_certificate(secured: SecuredBroker, tmp_path: Path, topic_prefix: str) -> None:
    servers, safe = secured.safe
    props = group_properties(servers, topic_prefix) | STRINGS | for_all(safe)
    (tmp_path / "in.txt").write_text("one\ntwo\n")
    topic = f"{topic_prefix}t"
    with DistributedProcess(props, tmp_path / "worker") as worker:
        groups = {"topic_creation_default_partitions": "2", "topic_creation_default_replication_factor": "1"}
        add(worker, "source", source(topic, tmp_path / "in.txt", **groups))
        began = time.monotonic()
        add(worker, "sink", sink(topic, tmp_path / "out.txt"))
        worker.wait_until(lambda: sorted(lines(tmp_path / "out.txt")) == ["one", "two"], "write both lines", SECONDS)
        assert time.monotonic() - began < SECONDS
        worker.wait_states("source", "RUNNING", "RUNNING")


@pytest.mark.parametrize(
    ("side", "wrong", "text"),
    [
        ("login", {"sasl.jaas.config": WRONG}, "Invalid username or password"),
        ("safe", {"ssl.truststore.location": None, "ssl.truststore.password": None}, "certificate verify failed"),
    ],
)
def test_a_single_request_says_why_it_is_refused(
    secured: SecuredBroker, side: str, wrong: dict[str, str | None], text: str
) -> None:
    """As Dagster's sensors and the commands ask: with clients that log nothing, and with both libraries."""
    servers, right = getattr(secured, side)
    settings = {name: value for name, value in {**right, **wrong}.items() if value is not None}
    with pytest.raises(ConnectError, match=f"The brokers refuse client connect-dagster: .*{text}"):
        fetch_topic_names(Brokers(servers, settings), 5)
    with pytest.raises(BrokersError, match=text):
        live_group(Brokers(servers, settings), "none", 3)
    fetch_topic_names(Brokers(servers, right), SECONDS)


def test_topics_that_cannot_be_created_fail_the_connector(
    secured: SecuredBroker, tmp_path: Path, topic_prefix: str
) -> None:
    props = {"bootstrap.servers": secured.broker.bootstrap_servers, **STRINGS}
    (tmp_path / "in.txt").write_text("one\n")
    with WorkerProcess(props, [], tmp_path / "worker") as worker:
        groups = {"topic_creation_default_partitions": "2", "topic_creation_default_replication_factor": "7"}
        add(worker, "too-many", source(f"{topic_prefix}t", tmp_path / "in.txt", **groups))
        incomplete = source("t", tmp_path / "in.txt", topic_creation_default_partitions="1")
        assert worker.call("PUT", "/connectors/no-default/config", incomplete).status == 500
        worker.wait_log(
            'Missing required configuration "topic.creation.default.replication.factor" which has no default'
        )
        status = worker.wait_states("too-many", "RUNNING", "FAILED", timeout=SECONDS)
        text = f"Error while attempting to create/find topic(s) '{topic_prefix}t'"
        assert text in status["tasks"][0]["trace"]
