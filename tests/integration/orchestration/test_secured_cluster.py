"""A running Dagster and its worker where all ask for tokens: the brokers, the registry and the REST API's clients."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dagster import AssetKey, DagsterRunStatus
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from connect_dagster.client.types import State
from connect_dagster.embedded.ports import HOST, free_port
from connect_dagster.orchestration import KafkaConnectClient, KafkaConnectError
from connect_dagster.orchestration.assets.keys import connector_key, group_key, topic_key
from tests.authorization_server import CLIENT_ID, CLIENT_SECRET
from tests.guarded_registry import guarded_registry
from tests.integration.orchestration.hosted_project import HostedProject
from tests.integration.worker.test_oauth_brokers import TokenBroker, token_broker
from tests.shipped_project import wait_until

pytestmark = pytest.mark.nightly

LINES = 2_000
SECONDS = 240
TOKEN_SECONDS = 60.0
# As many processes ask the same for the brokers: the registry's client by a scope of its own.
REGISTRY_SCOPE = "registry"


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TokenBroker]:
    with token_broker(tmp_path_factory.mktemp("tokens") / "broker") as made:
        made.server.seconds = TOKEN_SECONDS
        yield made


@pytest.fixture
def registry(schema_registry: str, tokens: TokenBroker) -> Iterator[dict[str, str]]:
    """Options of a converter for the registry, with a token."""
    side, keys = "value.converter", KeySet.import_key_set(tokens.server.keys())  # type: ignore[arg-type]  # the document

    def is_allowed(authorization: str) -> bool:
        try:
            jwt.decode(authorization.removeprefix("Bearer "), keys)
        except (JoseError, ValueError):
            return False
        return True

    with guarded_registry(schema_registry, is_allowed) as url:
        yield {
            side: "io.confluent.connect.avro.AvroConverter",
            f"{side}.schema.registry.url": url,
            f"{side}.bearer.auth.credentials.source": "OAUTHBEARER",
            f"{side}.bearer.auth.issuer.endpoint.url": tokens.server.token_url,
            f"{side}.bearer.auth.client.id": CLIENT_ID,
            f"{side}.bearer.auth.client.secret": CLIENT_SECRET,
            f"{side}.bearer.auth.scope": REGISTRY_SCOPE,
        }


@pytest.fixture
def client() -> KafkaConnectClient:
    return KafkaConnectClient(f"http://{HOST}:{free_port()}", timeout=10.0)


@pytest.fixture
def project(
    tokens: TokenBroker, client: KafkaConnectClient, topic_prefix: str, tmp_path: Path
) -> Iterator[HostedProject]:
    environment = {
        "HOSTED_SECURED_PREFIX": topic_prefix,
        "HOSTED_SECURED_URL": client.url,
        "HOSTED_SECURED_SERVERS": tokens.servers,
        "HOSTED_SECURED_LOGIN": json.dumps(tokens.server.login()),
    }
    module = "tests.integration.orchestration.hosted_secured"
    with HostedProject(tmp_path / "hosted", module, environment) as made:
        yield made


def metadata(project: HostedProject, key: AssetKey) -> dict[str, Any]:
    """What Dagster has seen of an asset last, observed or materialised."""
    found: dict[str, Any] = {}
    if (record := project.instance.get_latest_materialization_event(key)) and record.asset_materialization:
        found |= {name: entry.value for name, entry in record.asset_materialization.metadata.items()}
    for one in project.instance.fetch_observations(key, limit=1).records:
        if one.asset_observation:
            found |= {name: entry.value for name, entry in one.asset_observation.metadata.items()}
    return found


def lines(file: Path) -> int:
    return len(file.read_text().splitlines()) if file.exists() else 0


@pytest.mark.timeout(1200)
def test_all_of_a_project_get_in_and_stay_in(
    project: HostedProject,
    client: KafkaConnectClient,
    tokens: TokenBroker,
    registry: dict[str, str],
    topic_prefix: str,
    tmp_path: Path,
) -> None:
    topic, source, sink = (f"{topic_prefix}{name}" for name in ("lines", "source", "sink"))
    read, written = tmp_path / "in.txt", tmp_path / "out.txt"
    read.write_text("".join(f"line {number}\n" for number in range(LINES)))
    wait_until(lambda: project.observed("secured").get("worker_running") == 1, "see the worker run", SECONDS)

    def has(name: str, state: State) -> bool:
        try:
            return client.status(name).has_reached(state)
        except KafkaConnectError:
            return False

    plugin = "org.apache.kafka.connect.file.FileStream{}Connector".format
    of_source = {"connector.class": plugin("Source"), "file": str(read), "topic": topic}
    of_sink = {"connector.class": plugin("Sink"), "file": str(written), "topics": topic}
    for name, config in ((source, of_source), (sink, of_sink)):
        client.create({"name": name, **registry, **config}, "RUNNING")
        wait_until(lambda name=name: has(name, State.RUNNING), f"see {name} run", SECONDS)  # type: ignore[misc]
    wait_until(lambda: lines(written) == LINES, "see all lines written", SECONDS)
    scopes = [request.get("scope") for request in tokens.server.requests]
    assert REGISTRY_SCOPE in scopes

    def sensor_sees(count: int) -> bool:
        at_sink, at_topic = metadata(project, connector_key("local", sink)), metadata(project, topic_key(topic))
        committed = at_sink.get("offset_total") == count and at_sink.get("records_lag_total") == 0
        return committed and at_topic.get("end_offset_total") == count

    wait_until(lambda: sensor_sees(LINES), "see lag and ends by the daemon's sensor", SECONDS)

    run = project.ui().submit_job_execution("read_group")
    project.await_status(run, DagsterRunStatus.SUCCESS, SECONDS)
    group = metadata(project, group_key(f"{topic_prefix}group"))
    assert (group["member_count"], group["connector_count"], group["task_count"]) == (1, 2, 2)
    stored = metadata(project, topic_key(f"{topic_prefix}configs"))
    assert {row.data["connector"] for row in stored["connectors"].records} == {source, sink}

    asked = len(tokens.server.requests)
    # The worker, the daemon's code location and the registry's client: each renews its token.
    wait_until(lambda: len(tokens.server.requests) >= asked + 6, "see tokens renewed", SECONDS)
    with read.open("a") as more:
        more.write("later\n")
    wait_until(lambda: lines(written) == LINES + 1, "see the line after tokens have ended", SECONDS)
    wait_until(lambda: sensor_sees(LINES + 1), "see it by the sensor", SECONDS)
    assert has(source, State.RUNNING)
    assert has(sink, State.RUNNING)
