"""Rights that exactly-once sources need; an error names the one that is missing (Kafka's ACLs)."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # they are public, but not declared as such
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from connect_dagster.embedded.broker import EmbeddedBroker
from connect_dagster.errors import ConnectError
from connect_dagster.storage.fencable_writer import FencableWriter
from tests.distributed_process import DistributedProcess, group_properties
from tests.integration import topics
from tests.integration.cluster.group_of_workers import (
    STRING_CONVERTER,
    LineFiles,
    TopicReader,
    await_true,
    delete_all,
    put,
    settled_call,
    states_of,
)
from tests.integration.cluster.seed_workers import PLUGINS

pytestmark = pytest.mark.nightly

_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
BROKER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    "listener.name.login.sasl.enabled.mechanisms": "PLAIN",
    "listener.name.login.plain.sasl.jaas.config": f'{_PLAIN} user_connector="secret";',
}
LOGIN = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "PLAIN",
    "sasl.jaas.config": f'{_PLAIN} username="connector" password="secret";',
}
ID = ResourceType.TRANSACTIONAL_ID
TOPIC = ResourceType.TOPIC


@dataclass(frozen=True, slots=True)
class Strict:
    """A broker with rights, and a worker that has all of them, unlike the producers of its connectors.

    Attributes:
        broker: with a listener ``LOGIN`` for the user ``connector``.
        admin: for the rights.
        worker: the worker.
    """

    broker: EmbeddedBroker
    admin: AdminClient
    worker: DistributedProcess

    @property
    def group(self) -> str:
        """The group of the worker."""
        return self.worker.props["group.id"]

    @property
    def overrides(self) -> dict[str, str]:
        """Settings of a connector whose producers log in."""
        login = {"bootstrap.servers": self.broker.bootstrap_servers_of("LOGIN"), **LOGIN}
        return {f"producer.override.{key}": value for key, value in login.items()}

    def allow(self, kind: ResourceType, *names: str) -> None:
        """Let the producers write to resources, and read topics: their offsets are read with the same login."""
        operations = [AclOperation.DESCRIBE, *([AclOperation.READ] if kind is TOPIC else [])]
        given = [
            AclBinding(kind, name, ResourcePatternType.LITERAL, "User:connector", "*", one, AclPermissionType.ALLOW)
            for name in names
            for one in (AclOperation.WRITE, *operations)
        ]
        for answer in self.admin.create_acls(given).values():
            answer.result(30)

    def forbid(self, kind: ResourceType, name: str) -> None:
        """Take the right to write away."""
        given = AclBindingFilter(
            kind, name, ResourcePatternType.LITERAL, "User:connector", "*", AclOperation.WRITE, AclPermissionType.ANY
        )
        for answer in self.admin.delete_acls([given]).values():
            answer.result(30)

    def await_trace(self, name: str) -> str:
        """Wait until the connector's first task has failed; answers its error."""
        url = self.worker.rest_url
        await_true(lambda: "FAILED" in states_of(url, name)[1:2], lambda: states_of(url, name))
        return str(self.worker.call("GET", f"/connectors/{name}/status").json["tasks"][0]["trace"])

    def restart(self, name: str) -> None:
        """Restart the connector with its tasks, and wait until they run."""
        url = self.worker.rest_url
        assert settled_call(url, "POST", f"/connectors/{name}/restart?includeTasks=true").status == 202
        await_true(lambda: set(states_of(url, name)) == {"RUNNING"}, lambda: states_of(url, name))


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Strict]:
    folder = tmp_path_factory.mktemp("rights")
    with EmbeddedBroker(
        folder / "broker", 0, heap="512m", settings=BROKER, listeners={"LOGIN": "SASL_PLAINTEXT"}
    ) as broker:
        props = group_properties(
            broker.bootstrap_servers, "rights-", exactly_once_source_support="enabled", plugin_path=str(PLUGINS)
        )
        with DistributedProcess(props, folder / "worker") as worker:
            yield Strict(broker, AdminClient({"bootstrap.servers": broker.bootstrap_servers}), worker)


@pytest.fixture
def strict(started: Strict) -> Iterator[Strict]:
    """The worker without connectors."""
    yield started
    delete_all(started.worker.rest_url)


@pytest.fixture
def files(strict: Strict, tmp_path: Path, topic_prefix: str) -> LineFiles:
    """A file for one connector, whose topics may be written."""
    made = LineFiles(tmp_path, topic_prefix, 1)
    topics.create(strict.broker.bootstrap_servers, made.topic, 1)
    strict.allow(TOPIC, made.topic, strict.worker.props["offset.storage.topic"])
    made.grow()
    return made


def test_a_task_that_has_no_right_to_its_id_fails_and_goes_on_with_it(strict: Strict, files: LineFiles) -> None:
    (name,) = files.names
    assert put(strict.worker.rest_url, name, files.config(name, **strict.overrides)).status == 201
    trace = strict.await_trace(name)
    assert f"needs Write and Describe on transactional id {strict.group}-{name}-0" in trace
    strict.allow(ID, f"{strict.group}-{name}-0")
    strict.restart(name)
    with TopicReader(strict.broker.bootstrap_servers, files.topic) as reader:
        reader.await_values(files.lines)


def test_tasks_fail_where_former_ones_cannot_be_fenced_out(strict: Strict, tmp_path: Path, topic_prefix: str) -> None:
    name, topic, journal = f"{topic_prefix}counting", f"{topic_prefix}numbers", tmp_path / "journal"
    first, second = (f"{strict.group}-{name}-{number}" for number in range(2))
    topics.create(strict.broker.bootstrap_servers, topic, 1)
    strict.allow(TOPIC, topic, strict.worker.props["offset.storage.topic"])
    strict.allow(ID, first, second)

    def configure(tasks: int) -> int:
        config = {"connector.class": "CountingConnector", "tasks.max": str(tasks), "journal": str(journal)}
        more = {"topic": topic, "value.converter": STRING_CONVERTER, **strict.overrides}
        return put(strict.worker.rest_url, name, config | more).status

    assert configure(2) == 201
    await_true(lambda: states_of(strict.worker.rest_url, name) == ["RUNNING"] * 3, lambda: "two tasks run")
    strict.forbid(ID, second)
    assert configure(1) == 200
    trace = strict.await_trace(name)
    assert f"Failed to fence out the producer of {second}: " in trace
    assert f"needs Write and Describe on transactional id {second})" in trace
    strict.allow(ID, second)
    strict.restart(name)


@pytest.mark.parametrize("is_offsets", [False, True])
def test_a_topic_that_may_not_be_written_is_named(strict: Strict, files: LineFiles, is_offsets: bool) -> None:
    (name,) = files.names
    strict.allow(ID, f"{strict.group}-{name}-0")
    topic = strict.worker.props["offset.storage.topic"] if is_offsets else files.topic
    strict.forbid(TOPIC, topic)
    assert put(strict.worker.rest_url, name, files.config(name, **strict.overrides)).status == 201
    trace = strict.await_trace(name)
    assert f"needs Write and Describe on topic {topic})" in trace
    strict.allow(TOPIC, topic)
    strict.restart(name)
    with TopicReader(strict.broker.bootstrap_servers, files.topic) as reader:
        reader.await_values(files.lines)


def test_a_leader_that_has_no_right_to_its_id_says_so(strict: Strict) -> None:
    settings = {"bootstrap.servers": strict.broker.bootstrap_servers_of("LOGIN"), "client.id": "leader", **LOGIN}
    with pytest.raises(ConnectError, match=r"needs Write and Describe on transactional id connect-cluster-other\)$"):
        FencableWriter("configs", settings, "connect-cluster-other").claim()
