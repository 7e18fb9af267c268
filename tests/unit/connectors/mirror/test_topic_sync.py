"""ACLs of the target for those of the source."""

from concurrent.futures import Future
from typing import Any, cast

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # they are public, but not declared as such
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)

from connect_dagster.connectors.mirror.clusters import ForwardingAdmin
from connect_dagster.connectors.mirror.filters import DefaultConfigPropertyFilter, TopicFilter
from connect_dagster.connectors.mirror.flow import Flow
from connect_dagster.connectors.mirror.names import DefaultReplicationPolicy
from connect_dagster.connectors.mirror.source.topic_sync import remote_acls
from connect_dagster.connectors.mirror.source.topics import Replication
from connect_dagster.kafka import clients

LITERAL, PREFIXED = ResourcePatternType.LITERAL, ResourcePatternType.PREFIXED
ALLOW, DENY = AclPermissionType.ALLOW, AclPermissionType.DENY


class Orders(TopicFilter):
    """Accepts one topic."""

    def should_replicate_topic(self, topic: str) -> bool:
        return topic == "orders"


RULES = Replication(Flow("A", "B"), DefaultReplicationPolicy(), Orders(), DefaultConfigPropertyFilter(), True)


def acl(
    operation: AclOperation,
    permission: AclPermissionType = ALLOW,
    topic: str = "orders",
    pattern: ResourcePatternType = LITERAL,
) -> AclBinding:
    return AclBinding(ResourceType.TOPIC, topic, pattern, "User:u", "*", operation, permission)


@pytest.mark.parametrize(
    ("of_source", "of_target"),
    [
        (acl(AclOperation.READ), [(AclOperation.READ, ALLOW)]),
        (acl(AclOperation.WRITE), []),
        (acl(AclOperation.WRITE, DENY), [(AclOperation.WRITE, DENY)]),
        (acl(AclOperation.ALL), [(AclOperation.READ, ALLOW)]),
        (acl(AclOperation.ALL, DENY), [(AclOperation.ALL, DENY)]),
        (acl(AclOperation.READ, pattern=PREFIXED), []),
        (acl(AclOperation.READ, topic="payments"), []),
    ],
)
def test_rights_of_the_target(of_source: AclBinding, of_target: list[tuple[AclOperation, AclPermissionType]]) -> None:
    found = remote_acls([of_source], RULES)
    assert [(one.operation, one.permission_type) for one in found] == of_target
    assert {one.name for one in found} <= {"A.orders"}


def test_who_may_do_all_and_read_may_read_once() -> None:
    """The client refuses a request with the same ACL twice, so that none would be created."""
    given = [acl(AclOperation.READ), acl(AclOperation.ALL), acl(AclOperation.DESCRIBE)]
    assert [one.operation for one in remote_acls(given, RULES)] == [AclOperation.READ, AclOperation.DESCRIBE]


def test_one_refused_acl_among_those_of_a_topic_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    class Client:
        def poll(self, timeout: float) -> None: ...

        def create_acls(self, bindings: list[AclBinding], request_timeout: float) -> dict[AclBinding, Future[None]]:
            answers: dict[AclBinding, Future[None]] = {one: Future() for one in bindings}
            first, *others = answers.values()
            first.set_exception(KafkaException(KafkaError(KafkaError.INVALID_REQUEST)))
            for other in others:
                other.set_result(None)
            return answers

    monkeypatch.setattr(clients, "admin", lambda *_: cast("Any", Client()))
    errors = ForwardingAdmin({}).create_acls([acl(AclOperation.READ), acl(AclOperation.DESCRIBE)])
    assert list(errors) == ["orders"]
