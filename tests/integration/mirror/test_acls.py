"""ACLs of topics go over, but for those that only MirrorMaker may have on the target."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # they are public, but not declared as such
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)

from connect_dagster.embedded.broker import EmbeddedBroker
from tests.distributed_process import DistributedProcess
from tests.integration.mirror.clusters import Cluster, eventually
from tests.integration.mirror.conftest import Flow, mirror_properties

RIGHTS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
USER = "User:u"


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Cluster, Cluster]]:
    """Source and target with authorizers."""
    folder = tmp_path_factory.mktemp("strict")
    with (
        EmbeddedBroker(folder / "source", 0, heap="384m", settings=RIGHTS) as source,
        EmbeddedBroker(folder / "target", 0, heap="384m", settings=RIGHTS) as target,
    ):
        yield Cluster(source.bootstrap_servers), Cluster(target.bootstrap_servers)


@pytest.fixture(scope="module")
def strict_worker(
    strict: tuple[Cluster, Cluster], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[DistributedProcess]:
    props = mirror_properties(strict[1].bootstrap_servers)
    with DistributedProcess(props, tmp_path_factory.mktemp("worker")) as running:
        yield running


def acl(topic: str, operation: AclOperation, permission: AclPermissionType, user: str = USER) -> AclBinding:
    return AclBinding(ResourceType.TOPIC, topic, ResourcePatternType.LITERAL, user, "*", operation, permission)


def acls(cluster: Cluster, topic: str) -> set[tuple[str, str]]:
    """Operation and permission of each ACL of a topic."""
    wanted = AclBindingFilter(
        ResourceType.TOPIC,
        topic,
        ResourcePatternType.LITERAL,
        None,  # type: ignore[arg-type]  # which stands for any
        None,  # type: ignore[arg-type]
        AclOperation.ANY,
        AclPermissionType.ANY,
    )
    found = cluster.admin.describe_acls(wanted).result(30)
    return {(one.operation.name, one.permission_type.name) for one in found}


@pytest.mark.nightly
def test_lb_07_rights_to_read_go_over(strict: tuple[Cluster, Cluster], strict_worker: DistributedProcess) -> None:
    source, target = strict
    flow = Flow(f"s{uuid.uuid4().hex[:8]}", source, target, strict_worker)
    reader, owner = source.create(f"{flow.alias}-reader"), source.create(f"{flow.alias}-owner")
    given = [
        acl(reader, AclOperation.READ, AclPermissionType.ALLOW),
        acl(reader, AclOperation.WRITE, AclPermissionType.ALLOW),
        acl(reader, AclOperation.DELETE, AclPermissionType.DENY),
        acl(owner, AclOperation.ALL, AclPermissionType.ALLOW),
    ]
    for one in given:
        allow(source, one)
    flow.start("Source", topics=f"{flow.alias}-.*")
    remote = flow.remote(reader)
    expected = {("READ", "ALLOW"), ("DELETE", "DENY")}
    eventually(lambda: acls(target, remote) == expected, "READ and DENY go over, WRITE does not")
    eventually(lambda: acls(target, flow.remote(owner)) == {("READ", "ALLOW")}, "ALL becomes READ")

    removed = AclBindingFilter(
        ResourceType.TOPIC,
        reader,
        ResourcePatternType.LITERAL,
        USER,
        "*",
        AclOperation.READ,
        AclPermissionType.ALLOW,
    )
    for deleted in source.admin.delete_acls([removed]).values():
        deleted.result(30)
    later = acl(owner, AclOperation.DESCRIBE, AclPermissionType.DENY)
    allow(source, later)
    eventually(lambda: ("DESCRIBE", "DENY") in acls(target, flow.remote(owner)), "a later one goes over")
    assert acls(target, remote) == expected, "none is removed"


@pytest.mark.nightly
def test_lb_07_without_an_authorizer_there_is_one_line(flow: Flow, source: Cluster, target: Cluster) -> None:
    topic = source.create(f"{flow.alias}-t")
    name = flow.start("Source", topics=topic)
    eventually(lambda: target.partitions(flow.remote(topic)) == 1, "the topic is created")

    def lines() -> int:
        return flow.worker.log().count(f"INFO [{name}|worker] No ACL authorizer is configured on the source")

    eventually(lambda: lines() == 1, "it is said once")
    source.grow(topic, 2)
    eventually(lambda: target.partitions(flow.remote(topic)) == 2, "syncing goes on")
    assert lines() == 1


PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
LOGIN = {
    "listener.name.login.sasl.enabled.mechanisms": "PLAIN",
    "listener.name.login.plain.sasl.jaas.config": f'{PLAIN} user_mirror="secret";',
}


@pytest.mark.nightly
def test_a_topic_that_may_not_be_read_is_named(tmp_path: Path, target: Cluster) -> None:
    """The task stays RUNNING, as Java's, reads the others, and goes on once it has the right."""
    with EmbeddedBroker(
        tmp_path / "source", 0, heap="384m", settings={**RIGHTS, **LOGIN}, listeners={"LOGIN": "SASL_PLAINTEXT"}
    ) as broker:
        source = Cluster(broker.bootstrap_servers)
        topic, other = source.create("guarded"), source.create("open")
        for one in (topic, other):  # more than the consumer fetches itself
            source.produce(one, ({"value": b"%d" % number} for number in range(1_000)))
        for one in (topic, other):
            allow(source, acl(one, AclOperation.DESCRIBE_CONFIGS, AclPermissionType.ALLOW, "User:mirror"))
        allow(source, acl(topic, AclOperation.DESCRIBE, AclPermissionType.ALLOW, "User:mirror"))
        allow(source, acl(other, AclOperation.READ, AclPermissionType.ALLOW, "User:mirror"))
        with DistributedProcess(mirror_properties(target.bootstrap_servers), tmp_path / "worker") as worker:
            flow = Flow(f"s{uuid.uuid4().hex[:8]}", source, target, worker)
            name = flow.start(
                "Source",
                topics=f"{topic},{other}",
                source_cluster_bootstrap_servers=broker.bootstrap_servers_of("LOGIN"),
                source_cluster_security_protocol="SASL_PLAINTEXT",
                source_cluster_sasl_mechanism="PLAIN",
                source_cluster_sasl_jaas_config=f'{PLAIN} username="mirror" password="secret";',
                **{"offset-syncs.topic.location": "target"},
            )
            target.read(flow.remote(other), {0: 1_000})
            worker.wait_log("Failure during poll: guarded-0: ", 120)
            assert "Topic authorization failed" in worker.log()
            assert [task["state"] for task in flow.status(name)["tasks"]] == ["RUNNING"]
            allow(source, acl(topic, AclOperation.READ, AclPermissionType.ALLOW, "User:mirror"))
            target.read(flow.remote(topic), {0: 1_000})


def allow(cluster: Cluster, binding: AclBinding) -> None:
    for answer in cluster.admin.create_acls([binding]).values():
        answer.result(30)
