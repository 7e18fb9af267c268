"""Workers and clients on brokers that take tokens only (OAUTHBEARER)."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from connect_dagster.embedded.broker import EmbeddedBroker
from connect_dagster.embedded.broker_config import FAST_START
from tests.authorization_server import AuthorizationServer, authorization_server
from tests.distributed_process import DistributedProcess, group_properties
from tests.integration.topics import read_topic
from tests.integration.worker.secured_broker import for_all
from tests.integration.worker_process import WorkerProcess

pytestmark = pytest.mark.nightly

STRING = "org.apache.kafka.connect.storage.StringConverter"
STRINGS = {"key.converter": STRING, "value.converter": STRING}
# More than a consumer fetches itself: Spark reads them, by Java's client.
LINES = 2_000
SECONDS = 240


@dataclass(frozen=True, slots=True)
class TokenBroker:
    """A broker whose listener takes tokens, and the server that gives them."""

    broker: EmbeddedBroker
    server: AuthorizationServer

    @property
    def servers(self) -> str:
        return self.broker.bootstrap_servers_of("TOKENS")


@contextmanager
def token_broker(folder: Path) -> Iterator[TokenBroker]:
    with authorization_server() as server:
        # Connections log in again when their token ends, and after ten seconds at the latest (KIP-368).
        settings = server.broker_settings("TOKENS") | {"connections.max.reauth.ms": "10000"}
        options, listeners = (*FAST_START, *server.jvm_options), {"TOKENS": "SASL_PLAINTEXT"}
        with EmbeddedBroker(folder, 0, heap="512m", settings=settings, listeners=listeners, jvm=options) as broker:
            yield TokenBroker(broker, server)


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TokenBroker]:
    with token_broker(tmp_path_factory.mktemp("tokens") / "broker") as made:
        yield made


def add(worker: WorkerProcess, name: str, **config: str) -> None:
    answer = worker.call("PUT", f"/connectors/{name}/config", {k.replace("_", "."): v for k, v in config.items()})
    assert answer.status == 201, answer.json


def lines(file: Path) -> int:
    return len(file.read_text().splitlines()) if file.exists() else 0


def find_the_sinks_group(worker: WorkerProcess, servers: str, login: Mapping[str, str]) -> None:
    """Have a MirrorCheckpointConnector look at the group of a connector ``sink``, with a login at both clusters."""
    cluster = {f"{side}_cluster_{name}": value for side in ("source", "target") for name, value in login.items()}
    add(
        worker,
        "checkpoint",
        connector_class="MirrorCheckpointConnector",
        source_cluster_alias="a",
        target_cluster_alias="b",
        source_cluster_bootstrap_servers=servers,
        target_cluster_bootstrap_servers=servers,
        groups="connect-sink",
        groups_exclude="none",
        refresh_groups_interval_seconds="5",
        sync_group_offsets_enabled="true",
        checkpoints_topic_replication_factor="1",
        **cluster,
    )
    # The sink may commit its first offsets after the connector's first look.
    found = ("with 1 consumer groups", "Found 1 consumer groups")
    worker.wait_until(lambda: any(one in worker.log() for one in found), "find the sink's group", SECONDS)


@pytest.mark.timeout(900)
def test_a_worker_its_group_and_all_its_clients_log_in(tokens: TokenBroker, tmp_path: Path, topic_prefix: str) -> None:
    server, topic = tokens.server, f"{topic_prefix}t"
    server.seconds = 60.0
    server.requests.clear()
    props = group_properties(tokens.servers, topic_prefix) | STRINGS | for_all(server.login())
    source = tmp_path / "in.txt"
    source.write_text("".join(f"line {number}\n" for number in range(LINES)))
    try:
        with DistributedProcess(props, tmp_path / "worker") as worker:
            add(worker, "source", connector_class="FileStreamSource", topic=topic, file=str(source))
            worker.wait_states("source", "RUNNING", "RUNNING", timeout=SECONDS)
            sink = tmp_path / "out.txt"
            add(worker, "sink", connector_class="FileStreamSink", topics=topic, file=str(sink))
            worker.wait_until(lambda: lines(sink) == LINES, "write all lines", SECONDS)
            find_the_sinks_group(worker, tokens.servers, server.login())
            worker.wait_until(lambda: len(server.requests) >= 5, "renew its tokens", SECONDS)
            with source.open("a") as more:
                more.write("later\n")
            worker.wait_until(lambda: lines(sink) == LINES + 1, "write the line after tokens have ended", SECONDS)
            worker.wait_states("source", "RUNNING", "RUNNING")
            worker.wait_states("sink", "RUNNING", "RUNNING")
            log = worker.log()
    finally:
        server.seconds = 3600.0
    assert "has no effect" not in log
    assert server.requests[0]["grant_type"] == "client_credentials"


@pytest.mark.timeout(900)
def test_a_source_writes_exactly_once(tokens: TokenBroker, tmp_path: Path, topic_prefix: str) -> None:
    """Its producer, the leader's and that which fences former tasks out get in, and stay in when tokens end."""
    server, topic = tokens.server, f"{topic_prefix}t"
    login = server.login(sasl_oauthbearer_scope=topic_prefix)  # a login of its own
    props = group_properties(tokens.servers, topic_prefix, exactly_once_source_support="enabled") | STRINGS
    source = tmp_path / "in.txt"
    source.write_text("".join(f"line {number}\n" for number in range(LINES)))
    server.seconds = 30.0
    try:
        with DistributedProcess(props | for_all(login), tmp_path / "worker") as worker:
            add(worker, "source", connector_class="FileStreamSource", topic=topic, file=str(source))
            worker.wait_states("source", "RUNNING", "RUNNING", timeout=SECONDS)
            assert len(read_topic(tokens.broker.bootstrap_servers, topic, LINES)) == LINES
            requests = len(server.requests)
            worker.wait_until(lambda: len(server.requests) >= requests + 2, "renew its tokens", SECONDS)
            assert worker.call("POST", "/connectors/source/restart?includeTasks=true&onlyFailed=false").status == 202
            worker.wait_states("source", "RUNNING", "RUNNING", timeout=SECONDS)
            with source.open("a") as more:
                more.write("later\n")
            found = read_topic(tokens.broker.bootstrap_servers, topic, LINES + 1)
            worker.wait_states("source", "RUNNING", "RUNNING")
    finally:
        server.seconds = 3600.0
    assert [one.value() for one in found] == [f"line {number}".encode() for number in range(LINES)] + [b"later"]


@pytest.mark.timeout(600)
def test_a_wrong_secret_is_one_clear_error(tokens: TokenBroker, tmp_path: Path, topic_prefix: str) -> None:
    props = group_properties(tokens.servers, topic_prefix) | STRINGS | for_all(tokens.server.login("wrong"))
    worker = DistributedProcess(props, tmp_path / "worker")
    worker.start()
    assert worker.wait_exit(SECONDS) != 0
    text = f"The token endpoint {tokens.server.token_url} responds with 401: invalid_client Wrong name or secret"
    assert text in worker.log()
