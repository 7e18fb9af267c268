"""The parts of kafka-python that the membership builds on, which its makers may change (docs/decisions/0018)."""

import inspect
import threading
from collections.abc import Iterator

import pytest
from kafka.coordinator.base import BaseCoordinator

from connect_dagster.herder.distributed.config import DistributedConfig
from connect_dagster.herder.distributed.membership import WorkerGroupMember, _Coordinator
from connect_dagster.protocol.config_state import ClusterConfigState
from connect_dagster.storage.lease import Lease
from tests.distributed_process import group_properties

OVERRIDDEN = [
    "protocol_type",
    "group_protocols",
    "_perform_assignment",
    "_on_join_complete_async",
    "_process_join_group_response",
    "_do_join_and_sync_async",
    "_send_heartbeat_request",
    "request_rejoin",
    "reset_generation",
    "coordinator_dead",
]
CALLED = [
    "ensure_active_group",
    "ensure_coordinator_ready",
    "coordinator_unknown",
    "generation_if_stable",
    "maybe_leave_group",
    "need_rejoin",
    "poll_heartbeat",
    "close",
]


@pytest.fixture
def member() -> Iterator[WorkerGroupMember]:
    """A member whose brokers are away."""
    config = DistributedConfig.parse(group_properties("127.0.0.1:1", "internals-"))
    made = WorkerGroupMember(config, "client", "http://w/", Lease(10.0), ClusterConfigState, lambda: None)
    yield made
    made.stop()


def test_all_that_is_overridden_is_listed() -> None:
    own = {name for name, value in vars(_Coordinator).items() if inspect.isfunction(value)}
    assert own - {"__init__", "_extend_lease"} == set(OVERRIDDEN)


@pytest.mark.parametrize("name", OVERRIDDEN)
def test_an_overridden_method_is_one_of_kafka_pythons(name: str) -> None:
    theirs, ours = getattr(BaseCoordinator, name), getattr(_Coordinator, name)
    assert list(inspect.signature(ours).parameters) == list(inspect.signature(theirs).parameters)
    assert inspect.iscoroutinefunction(ours) is inspect.iscoroutinefunction(theirs)


@pytest.mark.parametrize("name", CALLED)
def test_a_method_that_is_called_exists(name: str) -> None:
    assert callable(getattr(BaseCoordinator, name))


@pytest.mark.parametrize(
    ("method", "called"),
    [
        ("join_group_async", "_do_join_and_sync_async"),
        ("join_group_async", "_on_join_complete_async"),
        ("_do_join_and_sync_async", "_process_join_group_response"),
        ("_do_heartbeat", "_send_heartbeat_request"),
        ("_handle_heartbeat_response", "request_rejoin"),
        ("_handle_heartbeat_response", "reset_generation"),
    ],
)
def test_kafka_python_calls_what_is_overridden(method: str, called: str) -> None:
    assert f"self.{called}" in inspect.getsource(getattr(BaseCoordinator, method))


def test_the_coordinators_thread_runs_before_a_join(member: WorkerGroupMember) -> None:
    """Without it a herder that is busy for longer than the session timeout loses its membership."""
    before = threading.active_count()
    member.start()
    assert threading.active_count() == before + 1
    coordinator = member._coordinator
    assert callable(coordinator._manager.call_soon)
    assert callable(coordinator._manager.send)
    assert inspect.isawaitable(coordinator._net.sleep(0))


def test_a_worker_without_brokers_is_no_member(member: WorkerGroupMember) -> None:
    member.start()
    assert not member.find_coordinator(0.05)
    assert member.join_needed
    assert member.member_id == ""
    assert member.owners.connectors == {}


def test_joins_and_failures_are_counted(member: WorkerGroupMember) -> None:
    for sensor in ("join-latency", "join-latency", "failed-rebalance"):
        member._metrics.get_sensor(sensor).record(5.0)
    measured = member.measured()
    assert (measured["join-total"], measured["failed-rebalance-total"], measured["heartbeat-total"]) == (2, 1, 0)
    assert measured["failed-rebalance-rate-per-hour"] > 0
    assert measured["connection-count"] == 0
