"""Workers, their group and all their clients on brokers that take tickets of Kerberos only."""

import base64
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import requests

from tests.conftest import Broker
from tests.distributed_process import DistributedProcess, group_properties
from tests.guarded_registry import guarded_registry
from tests.integration import topics
from tests.integration.kafka.test_kerberos_logins import TicketBroker, ticket_broker
from tests.integration.mirror.clusters import Cluster
from tests.integration.mirror.dedicated import DedicatedProcess
from tests.integration.mirror.test_dedicated import mm2
from tests.integration.worker.secured_broker import for_all
from tests.integration.worker.test_oauth_brokers import STRINGS, add, find_the_sinks_group, lines
from tests.integration.worker_process import WorkerProcess
from tests.spark_cluster import SparkCluster

pytestmark = pytest.mark.nightly

# More than a consumer fetches itself: Spark reads them, by Java's client.
LINES = 2_000
SECONDS = 240
AVRO = "io.confluent.connect.avro.AvroConverter"
SQUARES = Path(__file__).parents[1] / "spark_cluster" / "plugins"
NO_KEY_TABLE = "The key table cannot be read: No such file or directory"


@pytest.fixture(scope="module")
def tickets(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TicketBroker]:
    with ticket_broker(tmp_path_factory.mktemp("tickets")) as made, pytest.MonkeyPatch.context() as environment:
        made.realm.add("connector")
        made.realm.add("short", "30 seconds")
        # As Kafka's scripts take it; without it Java would read /etc/krb5.conf.
        environment.setenv("KAFKA_OPTS", " ".join(made.realm.jvm_options))
        yield made


@pytest.fixture(scope="module")
def worker(tickets: TicketBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DistributedProcess]:
    """A worker for connectors of several tests."""
    props = group_properties(tickets.servers, "kerberos-") | STRINGS | for_all(tickets.realm.login("connect"))
    with DistributedProcess(props, tmp_path_factory.mktemp("worker")) as made:
        yield made


@pytest.mark.timeout(900)
def test_a_worker_its_group_and_all_its_clients_log_in(
    tickets: TicketBroker, tmp_path: Path, topic_prefix: str
) -> None:
    topic = f"{topic_prefix}t"
    props = group_properties(tickets.servers, topic_prefix) | STRINGS | for_all(tickets.realm.login("short"))
    source, sink = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("".join(f"line {number}\n" for number in range(LINES)))
    with DistributedProcess(props, tmp_path / "worker") as worker:
        override = {f"producer.override.{k}": v for k, v in tickets.realm.login("connector").items()}
        add(worker, "source", connector_class="FileStreamSource", topic=topic, file=str(source), **override)
        worker.wait_states("source", "RUNNING", "RUNNING", timeout=SECONDS)
        add(worker, "sink", connector_class="FileStreamSink", topics=topic, file=str(sink))
        worker.wait_until(lambda: lines(sink) == LINES, "write all lines", SECONDS)
        find_the_sinks_group(worker, tickets.servers, tickets.realm.login("connect"))
        logins = tickets.broker.log_file.read_text().count("authenticationID=short@")
        worker.wait_until(
            lambda: tickets.broker.log_file.read_text().count("authenticationID=short@") > logins + 30,
            "log in again, with new tickets",
            SECONDS,
        )
        with source.open("a") as more:
            more.write("later\n")
        worker.wait_until(lambda: lines(sink) == LINES + 1, "write the line after its tickets have ended", SECONDS)
        for name in ("source", "sink", "checkpoint"):
            worker.wait_states(name, "RUNNING", "RUNNING")
        log = worker.log()
    assert "has no effect" not in log
    assert "one by one" not in log, "columns are sent with this login, too"
    broker = tickets.broker.log_file.read_text()
    assert all(f"authenticationID={name}@" in broker for name in ("short", "connector", "connect"))


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("options", "settings", "text"),
    [
        ({"keyTab": "/no/file"}, {}, NO_KEY_TABLE),
        ({}, {"sasl.kerberos.service.name": "other"}, "must be the first part of the brokers' principals"),
    ],
)
def test_a_wrong_login_is_one_clear_error(
    tickets: TicketBroker,
    tmp_path: Path,
    topic_prefix: str,
    options: dict[str, str],
    settings: dict[str, str],
    text: str,
) -> None:
    login = for_all(tickets.realm.login("connect", **options) | settings)
    worker = DistributedProcess(group_properties(tickets.servers, topic_prefix) | STRINGS | login, tmp_path / "worker")
    worker.start()
    assert worker.wait_exit(SECONDS) != 0
    error, *more = [line for line in worker.log().splitlines() if " ERROR " in line]
    assert text in error
    assert "connect@EXAMPLE.TEST with the key table" in error
    assert all("The options are explained in" in line for line in more)


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("options", "settings", "text"),
    [
        ({"keyTab": "/no/file"}, {}, f"connect@EXAMPLE.TEST with the key table /no/file: .*{NO_KEY_TABLE}"),
        ({"principal": "nobody@EXAMPLE.TEST"}, {}, "The key table has keys of: connect@EXAMPLE.TEST"),
        ({}, {"sasl.kerberos.service.name": "other"}, "Server other/localhost@EXAMPLE.TEST not found in Kerberos"),
    ],
    ids=["key table", "principal", "service"],
)
def test_a_task_with_a_wrong_login_fails_alone(
    tickets: TicketBroker,
    worker: DistributedProcess,
    tmp_path: Path,
    topic_prefix: str,
    options: dict[str, str],
    settings: dict[str, str],
    text: str,
) -> None:
    topic, file, copy = f"{topic_prefix}t", tmp_path / "in.txt", tmp_path / "out.txt"
    file.write_text("one\n")
    login = tickets.realm.login("connect", **options) | settings
    wrong = {
        "source": {"connector_class": "FileStreamSource", "topic": topic, "file": str(file)},
        "sink": {"connector_class": "FileStreamSink", "topics": topic, "file": str(tmp_path / "none.txt")},
    }
    for kind, client in (("source", "producer"), ("sink", "consumer")):
        name = f"{topic_prefix}wrong-{kind}"
        add(worker, name, **wrong[kind], **{f"{client}.override.{key}": value for key, value in login.items()})
        trace = worker.wait_states(name, "RUNNING", "FAILED", timeout=SECONDS)["tasks"][0]["trace"]
        first, _, frames = trace.partition("\n")
        assert re.search(rf"(kafka {client}|refuse client) connector-{client}-{name}-0: ", first)
        assert re.search(text, first)
        assert frames.startswith("Traceback")
    add(worker, f"{topic_prefix}source", **wrong["source"])
    add(worker, f"{topic_prefix}sink", **wrong["sink"] | {"file": str(copy)})
    worker.wait_until(lambda: lines(copy) == 1, "go on", SECONDS)


@pytest.mark.timeout(600)
def test_a_registry_has_its_own_login(
    worker: DistributedProcess, schema_registry: str, topic_prefix: str, tmp_path: Path
) -> None:
    topic, file, copy = f"{topic_prefix}t", tmp_path / "in.txt", tmp_path / "out.txt"
    file.write_text("one\ntwo\n")
    expected = f"Basic {base64.b64encode(b'me:secret').decode()}"
    with guarded_registry(schema_registry, lambda given: given == expected) as url:
        assert requests.get(f"{url}/subjects", timeout=30).status_code == 401
        avro = {
            "value.converter": AVRO,
            "value.converter.schema.registry.url": url,
            "value.converter.basic.auth.credentials.source": "USER_INFO",
            "value.converter.basic.auth.user.info": "me:secret",
        }
        add(worker, f"{topic_prefix}source", connector_class="FileStreamSource", topic=topic, file=str(file), **avro)
        add(worker, f"{topic_prefix}sink", connector_class="FileStreamSink", topics=topic, file=str(copy), **avro)
        worker.wait_until(lambda: lines(copy) == 2, "write all lines", SECONDS)
    assert copy.read_text() == "one\ntwo\n"
    assert f"{topic}-value" in requests.get(f"{schema_registry}/subjects", timeout=30).json()


class Mirrored(NamedTuple):
    """A topic of both clusters, and the end of their names."""

    topic: str
    tag: str


def flows(tickets: TicketBroker, broker: Broker, mirrored: Mirrored, **options: str) -> dict[str, str]:
    """Return a file of MirrorMaker for the cluster ``safe``, which takes tickets only, and a plain one."""
    safe, plain = Cluster(tickets.servers), Cluster(broker.bootstrap_servers)
    login = {f"A{mirrored.tag}.{name}": value for name, value in tickets.realm.login("connect", **options).items()}
    return mm2(safe, plain, mirrored.tag, topics=mirrored.topic) | login


@pytest.fixture
def mirrored(tickets: TicketBroker, broker: Broker, topic_prefix: str) -> Mirrored:
    """A topic of both clusters with ten records."""
    tag = topic_prefix[-9:-1]
    topic = f"{tag}-mirrored"
    for servers in (tickets.broker.bootstrap_servers, broker.bootstrap_servers):
        cluster = Cluster(servers)
        cluster.create(topic)
        cluster.produce(topic, ({"value": b"%d" % number} for number in range(10)))
    return Mirrored(topic, tag)


@pytest.mark.timeout(600)
def test_mirror_maker_replicates_both_ways(
    tickets: TicketBroker, broker: Broker, mirrored: Mirrored, tmp_path: Path
) -> None:
    tag = mirrored.tag
    ways = {f"A{tag}->B{tag}.enabled": "true", f"B{tag}->A{tag}.enabled": "true"}
    with DedicatedProcess(flows(tickets, broker, mirrored) | ways, tmp_path) as process:
        Cluster(broker.bootstrap_servers).read(f"A{tag}.{mirrored.topic}", {0: 10}, SECONDS)
        Cluster(tickets.broker.bootstrap_servers).read(f"B{tag}.{mirrored.topic}", {0: 10}, SECONDS)
        assert process.stop() == 0
        assert " ERROR " not in process.log()


@pytest.mark.timeout(600)
def test_mirror_maker_ends_where_its_target_refuses_it(
    tickets: TicketBroker, broker: Broker, mirrored: Mirrored, tmp_path: Path
) -> None:
    tag = mirrored.tag
    file = flows(tickets, broker, mirrored, keyTab="/no/file") | {f"B{tag}->A{tag}.enabled": "true"}
    process = DedicatedProcess(file, tmp_path, [f"A{tag}"])
    process.start()
    assert process.wait_exit(SECONDS) == 2
    error, advice = (line for line in process.log().splitlines() if " ERROR " in line)
    assert NO_KEY_TABLE in error
    assert "docs/mirror.md" in advice
    assert "Traceback" not in process.log()


@pytest.mark.timeout(600)
def test_mirror_maker_goes_on_where_its_source_refuses_it(
    tickets: TicketBroker, broker: Broker, mirrored: Mirrored, tmp_path: Path
) -> None:
    """Its heartbeats need the target alone; as in Java each connector that asks the source fails by itself."""
    tag = mirrored.tag
    file = flows(tickets, broker, mirrored, keyTab="/no/file") | {f"A{tag}->B{tag}.enabled": "true"}
    with DedicatedProcess(file, tmp_path, [f"B{tag}"]) as process:
        process.wait_log("WorkerSourceTask{id=MirrorHeartbeatConnector-0} Source task finished initialization", SECONDS)
        for name in ("Source", "Checkpoint"):
            process.wait_log(f"ERROR [Mirror{name}Connector|worker] WorkerConnector", SECONDS)
        assert process.stop() == 0
        log = process.log()
    assert len(re.findall(" ERROR ", log)) == 2
    assert len(re.findall(f"ConfigError: Failed to construct kafka admin .*{NO_KEY_TABLE}", log)) == 2


@pytest.fixture(scope="module")
def spark_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    with SparkCluster(tmp_path_factory.mktemp("spark"), 1) as made:
        yield made


@pytest.mark.timeout(600)
@pytest.mark.parametrize("has_realms", [True, False])
def test_executors_of_a_spark_cluster(
    tickets: TicketBroker, spark_cluster: SparkCluster, topic_prefix: str, tmp_path: Path, has_realms: bool
) -> None:
    """They log in themselves; what those cannot send whose machine lacks the file of realms, the worker sends."""
    count, topic, copy = 20_000, f"{topic_prefix}t", tmp_path / "copy"
    props = {
        "bootstrap.servers": tickets.servers,
        "spark.master": spark_cluster.url,
        "spark.executor.memory": "512m",
        "spark.driver.host": "127.0.0.1",
        "plugin.path": str(SQUARES),
        **for_all(tickets.realm.login("connect")),
    }
    if not has_realms:
        props["spark.executor.extraJavaOptions"] = "-Djava.security.krb5.conf=/no/file"
    with WorkerProcess(props, [], tmp_path / "worker") as worker:
        add(worker, "squares", connector_class="SquaresSource", topic=topic, count=str(count))
        worker.wait_until(
            lambda: topics.size(tickets.broker.bootstrap_servers, topic) >= count, "send all squares", SECONDS
        )
        add(worker, "copy", connector_class="FileStreamSink", topics=topic, file=str(copy))
        if has_realms:
            worker.wait_until(lambda: lines(copy) >= count, "write all squares", SECONDS)
        else:
            status = worker.wait_states("copy", "RUNNING", "FAILED", timeout=SECONDS)
            assert "javax.security.auth.login.LoginException" in status["tasks"][0]["trace"]
        warnings = re.findall("Spark's executors could not send a batch, this worker tries: .*", worker.log())
    if has_realms:
        assert "ProducerConfig" in spark_cluster.log(), "executors have sent them"
        assert not warnings
    else:
        (warning,) = warnings
        assert "javax.security.auth.login.LoginException" in warning
