"""A worker's membership by itself, without a herder."""

from collections.abc import Iterator

import pytest

from connect_dagster.embedded.broker import EmbeddedBroker
from connect_dagster.herder.distributed.config import DistributedConfig
from connect_dagster.herder.distributed.group_messages import Joined
from connect_dagster.herder.distributed.membership import WorkerGroupMember
from connect_dagster.protocol.config_state import ClusterConfigState
from connect_dagster.storage.lease import Lease
from tests.distributed_process import group_properties
from tests.integration.cluster.group_of_workers import await_true

JOIN_SECONDS = 2.0


@pytest.fixture
def member(own_broker: EmbeddedBroker) -> Iterator[WorkerGroupMember]:
    config = DistributedConfig.parse(group_properties(own_broker.bootstrap_servers, "membership-"))
    found = WorkerGroupMember(
        config, "client", "http://127.0.0.1:1/", Lease(60.0), lambda: ClusterConfigState(offset=1), lambda: None
    )
    found.start()
    yield found
    found.stop()


def joined(member: WorkerGroupMember) -> Joined:
    found: list[Joined] = []

    def is_joined() -> bool:
        if member.find_coordinator(JOIN_SECONDS) and (one := member.join(JOIN_SECONDS)):
            found.append(one)
        return bool(found)

    await_true(is_joined, lambda: "the worker joins", 60)
    return found[0]


@pytest.mark.nightly
def test_a_broker_that_goes_away_while_a_worker_joins_is_waited_for(
    own_broker: EmbeddedBroker, member: WorkerGroupMember
) -> None:
    assert joined(member).generation == 1
    own_broker.kill()
    member.request_rejoin()
    for _ in range(3):
        assert member.join(JOIN_SECONDS) is None
    own_broker.start()
    assert joined(member).generation > 1
