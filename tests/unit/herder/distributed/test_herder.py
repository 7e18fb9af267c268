"""Groups of workers without brokers: what users ask of them, and what becomes of it when workers come, go and fail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest

from connect_dagster.errors import AlreadyExistsError, BadRequestError, ConnectError, NotFoundError, RestError
from connect_dagster.herder.interface import (
    Health,
    NotAssignedError,
    NotLeaderError,
    RebalanceNeededError,
    RestartRequest,
    StoredConfig,
)
from connect_dagster.kafka.settings.java_settings import Settings
from connect_dagster.protocol.config_records import (
    SessionKey,
    commit_value,
    properties_value,
    session_key_value,
    target_state_value,
)
from connect_dagster.protocol.signature import RequestSignature
from connect_dagster.protocol.states import State, Status, TargetState, TaskId
from connect_dagster.protocol.status_records import status_value, task_key
from connect_dagster.storage.topic_log import TopicMissingError
from connect_dagster.worker import worker
from tests.unit.herder.distributed.memory_group import MemoryGroup, OneWorker
from tests.unit.protocol.kcat_records import RECORDS

CONFIGS, STATUSES = "memory-configs", "memory-statuss"
PROTOCOLS = ["sessioned", "compatible", "eager"]


def config(name: str, **more: str) -> dict[str, str | None]:
    return {"name": name, "connector.class": "FileStreamSource", "topic": "t", "file": "/never", **more}


def tasks(name: str, count: int) -> list[dict[str, str]]:
    return [{"task": f"{name}-{number}"} for number in range(count)]


def create(group: MemoryGroup, name: str, count: int = 1, target: TargetState | None = None) -> None:
    """Create a connector through the leader."""
    group.wanted[name] = tasks(name, count)
    group.leader().herder.put_connector(name, config(name), target, allow_replace=False)
    group.settle()


def states(one: OneWorker, name: str) -> list[State]:
    status = one.herder.connector_status(name)
    return [status.connector.state, *(task.state for _, task in status.tasks)]


@pytest.fixture
def group() -> MemoryGroup:
    return MemoryGroup()


@pytest.fixture
def alone(group: MemoryGroup) -> OneWorker:
    """The only worker of the group."""
    one = group.add()
    group.settle()
    return one


@pytest.fixture
def pair(group: MemoryGroup) -> tuple[OneWorker, OneWorker]:
    """Leader and follower."""
    group.add()
    group.add()
    group.settle()
    return group.leader(), group.follower()


# Sharing


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_s2_12_who_has_the_same_group_shares_the_work(protocol: str) -> None:
    group = MemoryGroup(connect_protocol=protocol)
    for _ in range(2):
        group.add()
    group.settle()
    create(group, "four", 4)
    first, second = group.workers
    assert first.runs | second.runs == {"four", "four-0", "four-1", "four-2", "four-3"}
    assert not first.runs & second.runs
    assert [len(one.worker.tasks_here) for one in group.workers] == [2, 2]
    assert [one.herder.connectors() for one in group.workers] == [["four"], ["four"]]


def test_s2_14_a_third_worker_gets_its_share_and_the_others_go_on(
    group: MemoryGroup, pair: tuple[OneWorker, OneWorker]
) -> None:
    create(group, "twelve", 12)
    for one in pair:
        one.worker.calls.clear()
    group.add()
    group.settle()
    assert [len(one.worker.tasks_here) for one in group.workers] == [4, 4, 4]
    calls = Counter(call.split()[0] for one in group.workers for call in one.worker.calls if "-" in call)
    assert calls == {"start": 4, "stop": 4}


@pytest.mark.parametrize("protocol", ["sessioned", "compatible"])
@pytest.mark.parametrize("role", ["leader", "follower"])
def test_a_killed_workers_tasks_go_on_elsewhere_after_the_delay(protocol: str, role: str) -> None:
    group = MemoryGroup(connect_protocol=protocol, scheduled_rebalance_max_delay_ms="5000")
    for _ in range(2):
        group.add()
    group.settle()
    create(group, "four", 4)
    victim = group.leader() if role == "leader" else group.follower()
    (other,) = (one for one in group.workers if one is not victim)
    before = other.runs
    other.worker.calls.clear()
    group.kill(victim)
    group.settle()
    if role == "follower":
        # A new leader does not know of a worker that was there before it, as in Java.
        assert other.runs == before
        group.advance(4.9)
        assert other.runs == before
    group.advance(5.1)
    assert other.runs == {"four", "four-0", "four-1", "four-2", "four-3"}
    assert not [call for call in other.worker.calls if call.startswith("stop")]


def test_a_worker_that_ends_leaves_its_work_to_the_others(
    group: MemoryGroup, pair: tuple[OneWorker, OneWorker]
) -> None:
    create(group, "four", 4)
    leaving = group.follower()
    calls = leaving.worker.calls
    calls.clear()
    leaving.driver.close()
    group.workers.remove(leaving)
    assert calls[0] == "worker stop"
    assert leaving.runs == set()
    assert leaving.member.calls == ["start", "stop"]
    with pytest.raises(ConnectError, match="Worker is shutting down"):
        leaving.driver._requests.add(lambda: None).result(0)
    group.settle()
    group.advance(301)
    assert group.leader().runs == {"four", "four-0", "four-1", "four-2", "four-3"}


def test_s2_08_a_group_that_died_is_as_it_was(group: MemoryGroup, pair: tuple[OneWorker, OneWorker]) -> None:
    create(group, "kept", 2)
    create(group, "held", 1)
    group.leader().herder.pause_connector("held")
    group.settle()
    before = {name: states(pair[0], name) for name in ("held", "kept")}
    assert before == {"held": [State.PAUSED] * 2, "kept": [State.RUNNING] * 3}
    for one in pair:
        group.kill(one)
    again = group.add()
    # It has not joined yet.
    assert again.herder.connectors() == ["held", "kept"]
    assert {name: states(again, name) for name in before} == before
    assert again.driver.state.generation == -1
    group.settle()
    assert {name: states(again, name) for name in before} == before
    assert {again.herder.connector_status(name).connector.worker_id for name in before} == {again.worker.id}


def test_the_leader_forgets_what_was_deleted_while_nobody_was_there(group: MemoryGroup) -> None:
    first = group.add()
    group.settle()
    create(group, "gone", 2)
    group.kill(first)
    group.topics.append(CONFIGS, (b"connector-gone", None))
    second = group.add()
    group.settle()
    with pytest.raises(NotFoundError, match="No status found for connector gone"):
        second.herder.connector_status("gone")
    assert second.runs == set()


# Which configuration runs


def versions(one: OneWorker, name: str) -> tuple[StoredConfig, int | None, list[int | None]]:
    """The stored configuration, and the versions that connector and tasks were started with, as a worker knows them."""
    status = one.herder.connector_status(name)
    return (
        one.herder.stored_config(name),
        status.connector.config_offset,
        [task.config_offset for _, task in status.tasks],
    )


def test_every_worker_knows_the_configuration_that_each_part_was_started_with(
    group: MemoryGroup, pair: tuple[OneWorker, OneWorker]
) -> None:
    create(group, "four", 4)
    for one in pair:
        stored, connector, running = versions(one, "four")
        assert (stored.planned, stored.tasks) == (True, tuple(TaskId("four", number) for number in range(4)))
        assert stored.offset == connector
        assert running == [stored.tasks_offset] * 4
    for one in pair:
        one.worker.blocked["four"] = []
    pair[0].herder.put_connector("four", config("four", note="new"), allow_replace=True)
    group.settle()
    before = stored
    for one in pair:
        stored, connector, running = versions(one, "four")
        assert connector == stored.offset != before.offset
        assert not stored.planned
        assert running == [before.tasks_offset] * 4
    (owner,) = (one for one in pair if "four" in one.runs)
    owner.worker.blocked["four"][0].set_result(tasks("four", 2))
    group.settle()
    for one in pair:
        stored, connector, running = versions(one, "four")
        assert stored.planned
        assert running == [stored.tasks_offset] * 2
        assert stored.tasks_offset != before.tasks_offset


def test_a_configuration_that_is_put_again_leaves_the_tasks_as_new_as_it(group: MemoryGroup, alone: OneWorker) -> None:
    create(group, "c")
    before, _, running = versions(alone, "c")
    alone.herder.put_connector("c", config("c"), allow_replace=True)
    group.settle()
    stored, connector, still = versions(alone, "c")
    assert (stored.planned, stored.tasks_offset, still) == (True, before.tasks_offset, running)
    assert connector == stored.offset != before.offset


def test_a_worker_that_is_behind_reads_the_config_topic_before_it_compares(
    group: MemoryGroup, pair: tuple[OneWorker, OneWorker]
) -> None:
    create(group, "c")
    follower = group.follower()
    log = next(log for log in group.topics.logs if log._on_record.__self__ is follower.driver.configs)  # type: ignore[attr-defined]
    log.follows = False
    group.topics.append(CONFIGS, (b"connector-c", properties_value(config("c", note="new"))))
    assert not follower.herder.stored_config("c").planned
    group.topics.away.add(CONFIGS)
    with pytest.raises(ConnectError, match="The config topic cannot be read to its end"):
        follower.herder.stored_config("c")


def test_a_commit_that_is_written_twice_leaves_no_connector_without_tasks(
    group: MemoryGroup, pair: tuple[OneWorker, OneWorker]
) -> None:
    """The producer writes it again where the response was lost, and its tasks are not before it the second time."""
    create(group, "c", 2)
    group.topics.append(CONFIGS, (b"commit-c", commit_value(2)))
    assert group.leader().driver.configs.snapshot().tasks("c") == []
    group.settle()
    assert group.leader().driver.configs.snapshot().tasks("c") == [TaskId("c", 0), TaskId("c", 1)]
    assert states(group.leader(), "c") == [State.RUNNING] * 3


def test_what_java_started_has_no_version(group: MemoryGroup, alone: OneWorker) -> None:
    create(group, "c")
    running = b'{"state":"RUNNING","trace":null,"worker_id":"java:8083","generation":9,"version":"4.3.1"}'
    group.topics.append(STATUSES, (b"status-task-c-0", running))
    _, connector, tasks_versions = versions(alone, "c")
    assert (connector is None, tasks_versions) == (False, [None])
    with pytest.raises(NotFoundError, match="Connector gone not found"):
        alone.herder.stored_config("gone")


# Faults of membership


@pytest.fixture(params=["leader", "follower"])
def zombie(request: pytest.FixtureRequest, group: MemoryGroup, pair: tuple[OneWorker, OneWorker]) -> OneWorker:
    """One of a pair that runs a connector with four tasks; a test takes it out of the group."""
    create(group, "four", 4)
    return group.leader() if request.param == "leader" else group.follower()


@pytest.fixture
def other(pair: tuple[OneWorker, OneWorker], zombie: OneWorker) -> OneWorker:
    """The one that stays in the group."""
    return next(one for one in pair if one is not zombie)


def test_a_worker_without_a_lease_keeps_its_work_and_writes_nothing(group: MemoryGroup, zombie: OneWorker) -> None:
    work, calls = zombie.runs, list(zombie.worker.calls)
    group.expire(zombie)
    written = {topic: len(records) for topic, records in group.topics.records.items()}
    with pytest.raises(RebalanceNeededError):
        zombie.herder.pause_connector("four")
    zombie.driver.tick()
    assert {topic: len(records) for topic, records in group.topics.records.items()} == written
    group.settle()
    assert zombie.lease.held
    assert (zombie.runs, zombie.worker.calls) == (work, calls)


def test_a_worker_that_has_its_lease_back_reports_again_what_it_kept(
    group: MemoryGroup, zombie: OneWorker, other: OneWorker
) -> None:
    first, second, *_ = sorted(zombie.worker.tasks_here, key=lambda id: id.task)
    group.expire(zombie)
    given_back = Status(State.UNASSIGNED, "other:8083", generation=zombie.driver.state.generation + 1)
    group.topics.append(STATUSES, (task_key(first).encode(), status_value(given_back)))
    zombie.worker.tasks_here[second][0].status(second, State.FAILED, "ended while nothing could be written")
    shown = dict(other.herder.connector_status("four").tasks)
    assert (shown[first.task].state, shown[second.task].state) == (State.UNASSIGNED, State.RUNNING)
    group.settle()
    assert zombie.lease.held
    shown = dict(other.herder.connector_status("four").tasks)
    assert (shown[first.task].state, shown[second.task].state) == (State.RUNNING, State.FAILED)


def test_a_worker_without_a_lease_stops_what_others_run_before_it_writes(
    group: MemoryGroup, zombie: OneWorker, other: OneWorker
) -> None:
    work = zombie.runs
    group.expire(zombie)
    for _ in range(2):
        for _ in range(10):
            other.driver.tick()
        group.clock.now += 301
        other.lease.renew(group.clock.now)
    assert other.runs >= work
    group.settle()
    group.advance(301)
    assert zombie.runs | other.runs == {"four", "four-0", "four-1", "four-2", "four-3"}
    assert not zombie.runs & other.runs
    assert zombie.driver.state.generation == other.driver.state.generation


def test_a_frozen_leader_that_wakes_is_no_leader(group: MemoryGroup, pair: tuple[OneWorker, OneWorker]) -> None:
    leader, follower = pair
    group.expire(leader)
    group.settle()
    assert follower.driver.leads
    with pytest.raises(NotLeaderError) as refused:
        leader.herder.put_connector("c", config("c"), allow_replace=False)
    assert refused.value.forward_url == "http://w2:8083/"
    follower.herder.put_connector("c", config("c"), allow_replace=False)
    group.settle()
    assert leader.runs | follower.runs == {"c", "c-0"}


def test_without_a_coordinator_nothing_runs_until_it_is_back(group: MemoryGroup, alone: OneWorker) -> None:
    create(group, "c")
    group.coordinator.away = True
    group.settle()
    assert alone.runs == set()
    assert alone.worker.calls[-2:] == ["stop c", "stop c-0"]
    group.coordinator.away = False
    group.settle()
    assert alone.runs == {"c", "c-0"}
    assert states(alone, "c") == [State.RUNNING, State.RUNNING]


def test_a_config_topic_that_cannot_be_read_takes_the_worker_out_of_the_group(
    group: MemoryGroup, pair: tuple[OneWorker, OneWorker]
) -> None:
    create(group, "four", 4)
    behind = group.follower()
    log = next(log for log in group.topics.logs if log._on_record.__self__ is behind.driver.configs)  # type: ignore[attr-defined]
    log.follows = False
    group.topics.append(CONFIGS, (b"logger-cluster-some.logger", b'{"level":"DEBUG"}'))
    group.topics.away.add(CONFIGS)
    group.coordinator.rebalance()
    group.clock.waits.clear()
    group.settle()
    assert behind.runs == set()
    assert behind.member.left[0] == "taking too long to read the log"
    # A tenth of the delay, by the tries that are left: 5, 4, 3, 2, 1; both workers wait.
    assert [seconds for seconds in group.clock.waits if seconds > 5][:10:2] == [6.0, 7.5, 10.0, 15.0, 30.0]
    group.topics.away.clear()
    group.settle()
    group.advance(301)
    assert sorted(len(one.worker.tasks_here) for one in group.workers) == [2, 2]


def test_a_worker_that_is_behind_reads_before_it_starts_anything(
    group: MemoryGroup, pair: tuple[OneWorker, OneWorker]
) -> None:
    follower = group.follower()
    log = next(log for log in group.topics.logs if log._on_record.__self__ is follower.driver.configs)  # type: ignore[attr-defined]
    log.follows = False
    create(group, "four", 4)
    log.follows = True
    assert [len(one.worker.tasks_here) for one in group.workers] == [2, 2]
    assert follower.driver.state.config.offset == group.leader().driver.state.config.offset


# Session keys


def test_the_leader_alone_distributes_session_keys(group: MemoryGroup, pair: tuple[OneWorker, OneWorker]) -> None:
    assert group.topics.keys(CONFIGS) == ["session-key"]
    leader, follower = pair
    assert leader.driver.configs.snapshot().session_key == follower.driver.configs.snapshot().session_key


def test_an_old_key_is_replaced(group: MemoryGroup, alone: OneWorker) -> None:
    old = SessionKey(b"0" * 32, "HmacSHA256", 1000)
    group.topics.append(CONFIGS, (b"session-key", session_key_value(old)))
    group.settle()
    assert group.topics.keys(CONFIGS) == ["session-key"] * 3
    key = alone.driver.configs.snapshot().session_key
    assert key is not None
    assert key.creation_timestamp > 1000


def test_groups_of_other_protocols_have_no_keys() -> None:
    group = MemoryGroup(connect_protocol="compatible")
    group.add()
    group.settle()
    assert group.topics.keys(CONFIGS) == []


def test_a_key_that_cannot_be_written_is_tried_again_once_the_topic_is_back(group: MemoryGroup) -> None:
    one = group.add()
    group.topics.away.add(CONFIGS)
    one.driver.tick()
    assert one.driver.state.unread
    one.driver.tick()
    assert one.member.left == ["taking too long to read the log"]
    group.topics.away.clear()
    group.advance(2)
    assert group.topics.keys(CONFIGS) == ["session-key"]
    assert one.driver.leads


def test_a_deleted_config_topic_ends_no_work(group: MemoryGroup, pair: tuple[OneWorker, OneWorker]) -> None:
    """At fa6cb2e the leader stopped its work and left the group with the next session key, an hour later at most."""
    create(group, "four", 4)
    runs = [one.runs for one in pair]
    # The key that this one replaces is due.
    group.topics.append(CONFIGS, (b"session-key", session_key_value(SessionKey(b"0" * 32, "HmacSHA256", 1000))))
    group.topics.deleted.add(CONFIGS)
    group.coordinator.rebalance()
    group.settle()
    assert [one.runs for one in pair] == runs
    assert [one.member.left for one in pair] == [[], []]
    leader, follower = pair
    with pytest.raises(TopicMissingError, match=f"^Topic '{CONFIGS}' does not exist any more on the brokers"):
        leader.herder.put_connector("other", config("other"), allow_replace=False)
    for refused in (
        lambda: follower.herder.pause_connector("four"),
        lambda: follower.herder.stored_config("four"),
        lambda: leader.herder.stop_connector("four"),
        lambda: leader.herder.delete_connector("four"),
    ):
        with pytest.raises(TopicMissingError):
            refused()
    assert follower.herder.connectors() == ["four"]
    group.topics.deleted.clear()
    writes = len(group.topics.keys(CONFIGS))
    group.advance(59)
    assert len(group.topics.keys(CONFIGS)) == writes
    group.advance(2)
    assert group.topics.keys(CONFIGS)[writes:] == ["session-key"]
    assert [one.runs for one in pair] == runs


def test_signatures_are_checked_with_the_key_of_the_group(group: MemoryGroup, alone: OneWorker) -> None:
    create(group, "c")
    key = alone.driver.configs.snapshot().session_key
    assert key is not None
    with pytest.raises(BadRequestError, match="Internal request missing required signature"):
        alone.herder.put_task_configs("c", [], None)
    with pytest.raises(RestError, match="Internal request contained invalid signature"):
        alone.herder.put_task_configs("c", [], RequestSignature(b"[]", "HmacSHA256", b"wrong"))


# What users ask


def test_only_the_leader_changes_connectors(group: MemoryGroup, pair: tuple[OneWorker, OneWorker]) -> None:
    _, follower = pair
    with pytest.raises(NotLeaderError, match="Only the leader can set connector configs") as refused:
        follower.herder.put_connector("c", config("c"), allow_replace=False)
    assert refused.value.forward_url == "http://w1:8083/"
    create(group, "c")
    for call in (
        lambda: follower.herder.delete_connector("c"),
        lambda: follower.herder.stop_connector("c"),
        lambda: follower.herder.restart_connector_and_tasks(RestartRequest("c")),
        lambda: follower.herder.patch_connector("c", {}),
    ):
        with pytest.raises(NotLeaderError):
            call()
    # Any worker may change target states.
    follower.herder.pause_connector("c")
    group.settle()
    assert states(follower, "c") == [State.PAUSED, State.PAUSED]


def test_a_connector_is_created_once_and_read_everywhere(group: MemoryGroup, pair: tuple[OneWorker, OneWorker]) -> None:
    create(group, "c", 2)
    assert group.topics.keys(CONFIGS)[1:] == ["connector-c", "task-c-0", "task-c-1", "commit-c"]
    with pytest.raises(AlreadyExistsError, match="Connector c already exists"):
        pair[0].herder.put_connector("c", config("c"), allow_replace=False)
    for one in pair:
        assert one.herder.connector_info("c").tasks == (TaskId("c", 0), TaskId("c", 1))
        assert [task.config for task in one.herder.tasks("c")] == tasks("c", 2)
        assert one.herder.known_connector_info("c") == one.herder.connector_info("c")
        with pytest.raises(NotFoundError, match="Connector other not found"):
            one.herder.connector_info("other")


def test_s2_09_tasks_are_shown_once_their_commit_was_read(group: MemoryGroup, alone: OneWorker) -> None:
    record = next(one for one in RECORDS if one["topic"] == "connect-configs")
    name = "mysql_cdc_ops_source_avro_01"
    # A paused connector asks for no tasks itself.
    for key, value in (
        (f"target-state-{name}", target_state_value(TargetState.PAUSED)),
        (f"connector-{name}", properties_value(config(name))),
        (record["key"], record["payload"].encode()),
    ):
        group.topics.append(CONFIGS, (key.encode(), value))
    group.settle()
    assert alone.herder.tasks(name) == []
    group.topics.append(CONFIGS, (f"commit-{name}".encode(), commit_value(1)))
    group.settle()
    (task,) = alone.herder.tasks(name)
    assert task.id == TaskId(name, 0)
    assert len(task.config) == 26
    assert task.config["transforms.rename_topic.regex"] == r"(.*)\.(.*)\.(.*)"
    assert states(alone, name) == [State.PAUSED, State.PAUSED]


def test_reads_wait_for_no_rebalance_that_is_still_to_come(group: MemoryGroup, alone: OneWorker) -> None:
    group.topics.append(CONFIGS, (b"connector-new", b'{"properties":{"connector.class":"FileStreamSource"}}'))
    with pytest.raises(RebalanceNeededError, match="Cannot complete request momentarily due to stale configuration"):
        alone.herder.connector_info("new")
    assert alone.herder.known_connector_info("new").config == {"connector.class": "FileStreamSource"}
    group.settle()
    assert alone.herder.connector_info("new").tasks == (TaskId("new", 0),)


def test_connectors_that_come_and_go_at_once_leave_nothing_behind(
    group: MemoryGroup, pair: tuple[OneWorker, OneWorker]
) -> None:
    leader = group.leader()
    for number in range(8):
        leader.herder.put_connector("c", config("c", note=str(number)), allow_replace=True)
        leader.herder.put_connector("c", config("c", note=f"{number}b"), allow_replace=True)
        leader.herder.delete_connector("c")
    group.settle()
    assert [one.runs for one in group.workers] == [set(), set()]
    for one in pair:
        with pytest.raises(NotFoundError):
            one.herder.connector_status("c")
    create(group, "c", 3)
    assert states(leader, "c") == [State.RUNNING] * 4


def test_a_new_configuration_restarts_the_connector_and_no_task(group: MemoryGroup, alone: OneWorker) -> None:
    create(group, "c")
    alone.worker.calls.clear()
    alone.herder.put_connector("c", config("c", note="new"), allow_replace=True)
    group.settle()
    # The tasks were made from another configuration of the connector (KAFKA-9228).
    assert alone.worker.calls == ["stop c", "start c", "stop c-0", "start c-0"]
    alone.worker.calls.clear()
    alone.herder.put_connector("c", config("c", note="new"), allow_replace=True)
    group.settle()
    assert alone.worker.calls == ["stop c", "start c"]


def test_tasks_that_a_connector_asks_for_replace_the_others(group: MemoryGroup, alone: OneWorker) -> None:
    create(group, "c")
    alone.worker.calls.clear()
    alone.worker.here["c"][1]()
    group.settle()
    assert alone.worker.calls == []
    group.wanted["c"] = tasks("c", 3)
    alone.worker.here["c"][1]()
    group.settle()
    assert alone.worker.calls[0] == "stop c-0"
    assert sorted(alone.worker.calls[1:]) == ["start c-0", "start c-1", "start c-2"]
    assert states(alone, "c") == [State.RUNNING] * 4


def test_a_follower_sends_task_configurations_to_the_leader(
    group: MemoryGroup, pair: tuple[OneWorker, OneWorker]
) -> None:
    create(group, "a")
    create(group, "b")
    follower = group.follower()
    (mine,) = follower.worker.here
    group.wanted[mine] = tasks(mine, 2)
    follower.worker.here[mine][1]()
    group.settle()
    url, body = follower.rest.sent[-1]
    assert url == f"http://w1:8083/connectors/{mine}/tasks"
    assert body == f'[{{"task": "{mine}-0"}}, {{"task": "{mine}-1"}}]'.encode()
    assert states(follower, mine) == [State.RUNNING] * 3


def test_a_plan_that_fails_is_tried_again_with_growing_pauses(group: MemoryGroup, alone: OneWorker) -> None:
    create(group, "c")
    group.wanted["c"] = ConnectError("not now")
    alone.worker.here["c"][1]()
    group.settle()
    pauses = []
    for _ in range(4):
        pauses.append((alone.driver._requests.next_at or 0) - group.clock.now)
        group.advance(pauses[-1])
    assert pauses == pytest.approx([0.25, 0.5, 1.0, 2.0])
    group.wanted["c"] = tasks("c", 2)
    group.advance(4)
    assert states(alone, "c") == [State.RUNNING] * 3


def test_a_connector_that_never_answers_holds_up_nobody(group: MemoryGroup, alone: OneWorker) -> None:
    plans = alone.worker.blocked["stuck"] = []
    create(group, "stuck")
    create(group, "other")
    assert states(alone, "other") == [State.RUNNING, State.RUNNING]
    assert alone.herder.tasks("stuck") == []
    alone.herder.pause_connector("other")
    alone.herder.delete_connector("stuck")
    group.settle()
    assert states(alone, "other") == [State.PAUSED, State.PAUSED]
    # Its late answer is not written.
    (plan,) = plans
    plan.set_result(tasks("stuck", 1))
    group.settle()
    assert not [key for key in group.topics.keys(CONFIGS) if key.startswith(("task-stuck", "commit-stuck"))]
    del alone.worker.blocked["stuck"]
    create(group, "stuck", 2)
    assert states(alone, "stuck") == [State.RUNNING] * 3


def test_a_connector_that_never_answers_can_be_changed(group: MemoryGroup, alone: OneWorker) -> None:
    plans = alone.worker.blocked["stuck"] = []
    create(group, "stuck")
    del alone.worker.blocked["stuck"]
    group.wanted["stuck"] = tasks("stuck", 2)
    alone.herder.put_connector("stuck", config("stuck", note="new"), allow_replace=True)
    group.settle()
    assert states(alone, "stuck") == [State.RUNNING] * 3
    # The answer to the question before it comes too late.
    plans[0].set_result(tasks("stuck", 1))
    group.settle()
    assert states(alone, "stuck") == [State.RUNNING] * 3


def test_traces_have_no_values_of_config_providers(group: MemoryGroup, alone: OneWorker) -> None:
    alone.worker._transformer.hidden.add({"${file:/s:password}": "cannot"})
    alone.worker.failing |= {"broken", "half-0"}
    create(group, "broken")
    create(group, "half")
    status = alone.herder.connector_status("broken").connector, alone.herder.task_status(TaskId("half", 0))
    for one in status:
        assert "${file:/s:password} be started" in (one.trace or "")
        assert "cannot" not in (one.trace or "")


def test_what_cannot_be_started_fails_alone_and_is_mended_by_a_restart(group: MemoryGroup, alone: OneWorker) -> None:
    alone.worker.failing |= {"broken", "half-1"}
    create(group, "broken")
    create(group, "half", 2)
    assert states(alone, "broken") == [State.FAILED]
    assert states(alone, "half") == [State.RUNNING, State.RUNNING, State.FAILED]
    trace = alone.herder.task_status(TaskId("half", 1)).trace
    assert trace is not None
    assert "half-1 cannot be started" in trace
    alone.worker.failing.clear()
    alone.worker.calls.clear()
    shown = alone.herder.restart_connector_and_tasks(RestartRequest("half", only_failed=True, include_tasks=True))
    assert [task.state for _, task in shown.tasks] == [State.RUNNING, State.RESTARTING]
    alone.herder.restart_connector("broken")
    group.settle()
    assert states(alone, "broken") == [State.RUNNING, State.RUNNING]
    assert states(alone, "half") == [State.RUNNING] * 3
    assert "stop half" not in alone.worker.calls


def test_restarts_of_a_single_task_go_to_its_worker(group: MemoryGroup, pair: tuple[OneWorker, OneWorker]) -> None:
    create(group, "four", 4)
    leader, follower = pair
    (here, *_), (there, *_) = leader.worker.tasks_here, follower.worker.tasks_here
    leader.worker.calls.clear()
    leader.herder.restart_task(here)
    assert leader.worker.calls == [f"stop {here}", f"start {here}"]
    with pytest.raises(NotAssignedError, match="it is not assigned to this member") as elsewhere:
        leader.herder.restart_task(there)
    assert elsewhere.value.forward_url == "http://w2:8083/"
    with pytest.raises(NotLeaderError) as not_known:
        follower.herder.restart_task(here)
    assert not_known.value.forward_url == "http://w1:8083/"
    with pytest.raises(NotFoundError, match="Unknown task: four-9"):
        leader.herder.restart_task(TaskId("four", 9))


def test_a_restart_of_all_parts_reaches_every_worker(group: MemoryGroup, pair: tuple[OneWorker, OneWorker]) -> None:
    create(group, "four", 4)
    for one in pair:
        one.worker.calls.clear()
    pair[0].herder.restart_connector_and_tasks(RestartRequest("four", include_tasks=True))
    group.settle()
    calls = Counter(call.split()[0] for one in pair for call in one.worker.calls)
    assert calls == {"stop": 5, "start": 5}
    assert states(pair[1], "four") == [State.RUNNING] * 5


def test_stop_drops_the_tasks_and_resume_brings_them_back(group: MemoryGroup, alone: OneWorker) -> None:
    create(group, "c", 2)
    alone.herder.stop_connector("c")
    group.settle()
    assert states(alone, "c") == [State.STOPPED]
    assert alone.herder.tasks("c") == []
    assert alone.runs == {"c"}
    alone.herder.resume_connector("c")
    group.settle()
    assert states(alone, "c") == [State.RUNNING] * 3


@pytest.mark.parametrize("target", [TargetState.PAUSED, TargetState.STOPPED])
def test_no_tasks_before_the_connector_runs(group: MemoryGroup, alone: OneWorker, target: TargetState) -> None:
    create(group, "c", 2, target)
    assert states(alone, "c") == [State[target.name]]
    alone.herder.resume_connector("c")
    group.settle()
    assert states(alone, "c") == [State.RUNNING] * 3


def test_patches_merge_with_what_is_there(group: MemoryGroup, alone: OneWorker) -> None:
    create(group, "c")
    alone.herder.patch_connector("c", {"note": "x"})
    info = alone.herder.patch_connector("c", {"batch.size": "5", "note": None})
    assert info.config["batch.size"] == "5"
    assert "note" not in info.config


def test_health_asks_the_herders_thread(group: MemoryGroup, alone: OneWorker) -> None:
    assert alone.herder.health().health is Health.STARTING
    alone.driver._ready.set()
    assert alone.herder.health().health is Health.HEALTHY


def test_a_worker_that_must_not_join_ends(group: MemoryGroup) -> None:
    def refuse(state: object) -> None:
        raise ConnectError("This worker does not join the group")

    with pytest.raises(ConnectError, match="does not join"):
        group.add(refuse)
    assert group.coordinator.members == []


def test_each_worker_restarts_what_it_runs_with_outdated_values(
    group: MemoryGroup, pair: tuple[OneWorker, OneWorker]
) -> None:
    create(group, "c", 2)
    for one in pair:
        own = sorted(one.runs)
        one.worker.calls.clear()
        one.worker.outdated_items = [*one.worker.here, *one.worker.tasks_here, TaskId("c", 7)]
        one.worker.on_outdated()
        one.worker.on_outdated()
        group.settle()
        assert [call for call in one.worker.calls if call.startswith("stop ")] == [f"stop {name}" for name in own]
        assert sorted(one.runs) == own
        assert not [call for call in one.worker.calls if call.endswith("c-7")]
    assert states(group.leader(), "c") == [State.RUNNING] * 3


def test_outdated_values_wait_for_a_rebalance(group: MemoryGroup, alone: OneWorker) -> None:
    create(group, "c")
    alone.worker.calls.clear()
    alone.worker.outdated_items = [TaskId("c", 0)]
    alone.driver._updates.expect_rebalance()
    alone.driver._restart_outdated()
    assert alone.worker.calls == []
    group.settle()
    alone.worker.on_outdated()
    group.settle()
    assert alone.worker.calls == ["stop c-0", "start c-0"]


# Fencing


@pytest.mark.parametrize("support", ["disabled", "preparing"])
def test_a_leader_fences_tasks_of_workers_that_are_ahead_of_it(support: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a rolling change workers with tasks in transactions ask a leader that has none."""
    fenced: list[list[str]] = []

    def fence(producers: Iterable[Settings], seconds: float) -> None:
        fenced.append([settings["transactional.id"] for settings in producers])

    monkeypatch.setattr(worker, "fence_producers", fence)
    group = MemoryGroup(exactly_once_source_support=support, connect_protocol="compatible")
    leader = group.add()
    group.settle()
    create(group, "a", 3)
    leader.herder.fence_zombies("a", None)
    assert fenced == []  # tasks that nobody has recorded had no transactions
    for count in (2, 1, 1):
        leader.herder.put_task_configs("a", tasks("a", count), None)
        for _ in range(2):  # the second has nothing to do
            leader.herder.fence_zombies("a", None)
    ids = [f"{group.config.group_id}-a-{number}" for number in range(3)]
    assert fenced == [ids, ids[:2]]
    counts = [value for key, value in group.topics.records[CONFIGS] if key == b"tasks-fencing-a"]
    assert counts == [b'{"task-count":%d}' % count for count in (3, 2, 1, 1)]
