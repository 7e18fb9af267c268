"""The config topic: Java's records in Java's order, and what every worker makes of them."""

from __future__ import annotations

import json
import threading
import time

import pytest
from confluent_kafka import IsolationLevel

from connect_dagster.embedded.broker import EmbeddedBroker
from connect_dagster.errors import ConnectError
from connect_dagster.protocol.config_records import SessionKey
from connect_dagster.protocol.config_state import (
    ConnectorRemoved,
    ConnectorUpdated,
    Event,
    LoggerLevelChanged,
    RestartRequested,
    SessionKeyUpdated,
    TargetStateChanged,
    TasksUpdated,
)
from connect_dagster.protocol.states import TargetState, TaskId
from connect_dagster.storage import config_store
from connect_dagster.storage.fencable_writer import PrivilegedWriteError
from connect_dagster.storage.topic_log import READ_COMMITTED, NotPermittedError
from tests.integration.storage.stores import SECONDS, Raw, Stores, wait_until

CONFIG: dict[str, str | None] = {"connector.class": "FileStreamSource", "tasks.max": "1", "name": "kc-src"}
TASK: dict[str, str | None] = {
    "name": "kc-src",
    "topic": "kc-t",
    "file": "in.txt",
    "tasks.max": "1",
    "connector.class": "FileStreamSource",
    "task.class": "org.apache.kafka.connect.file.FileStreamSourceTask",
}
KEY = SessionKey(b"\x00\xff", "HmacSHA256", 1795206769348)

# What a Java 4.3.1 worker wrote for create, restart, pause, resume, stop, a logger's level and delete.
JAVAS: list[Raw] = [
    ("session-key", '{"key":"AP8=","algorithm":"HmacSHA256","creation-timestamp":1795206769348}'),
    (
        "connector-kc-src",
        '{"properties":{"connector.class":"FileStreamSource","tasks.max":"1","name":"kc-src"}}',
    ),
    (
        "task-kc-src-0",
        '{"properties":{"connector.class":"FileStreamSource","file":"in.txt",'
        '"task.class":"org.apache.kafka.connect.file.FileStreamSourceTask","tasks.max":"1","name":"kc-src",'
        '"topic":"kc-t"}}',
    ),
    ("commit-kc-src", '{"tasks":1}'),
    ("restart-connector-kc-src", '{"include-tasks":true,"only-failed":false}'),
    ("target-state-kc-src", '{"state":"PAUSED","state.v2":"PAUSED"}'),
    ("target-state-kc-src", '{"state":"STARTED","state.v2":"STARTED"}'),
    ("commit-kc-src", '{"tasks":0}'),
    ("target-state-kc-src", '{"state":"PAUSED","state.v2":"STOPPED"}'),
    ("logger-cluster-org.apache.kafka.connect.runtime", '{"level":"WARN"}'),
    ("connector-kc-src", None),
    ("target-state-kc-src", None),
]
EVENTS: list[Event] = [
    SessionKeyUpdated(KEY),
    ConnectorUpdated("kc-src"),
    TasksUpdated("kc-src", (TaskId("kc-src", 0),)),
    RestartRequested("kc-src", only_failed=False, include_tasks=True),
    TargetStateChanged("kc-src"),
    TargetStateChanged("kc-src"),
    TasksUpdated("kc-src", ()),
    TargetStateChanged("kc-src"),
    LoggerLevelChanged("org.apache.kafka.connect.runtime", "WARN"),
    ConnectorRemoved("kc-src"),
]


def test_what_is_written_is_what_java_writes(stores: Stores) -> None:
    events: list[Event] = []
    store = stores.config(events)
    store.put_session_key(KEY)
    store.put_connector("kc-src", CONFIG)
    store.put_task_configs("kc-src", [TASK])
    store.put_restart_request("kc-src", only_failed=False, include_tasks=True)
    store.put_target_state("kc-src", TargetState.PAUSED)
    store.put_target_state("kc-src", TargetState.STARTED)
    store.put_task_configs("kc-src", [])
    store.put_target_state("kc-src", TargetState.STOPPED)
    store.put_logger_level("org.apache.kafka.connect.runtime", "WARN")
    store.remove_connector("kc-src")
    assert stores.read_raw(stores.config_topic.name) == {0: JAVAS}
    assert events == EVENTS
    assert store.snapshot().offset == len(JAVAS)


FENCING_ID = "connect-cluster-test"


def test_a_fencable_leader_writes_the_same_records(stores: Stores) -> None:
    store = stores.config(fencing_id=FENCING_ID)
    lacked = store.lacks_write_privileges
    store.claim_write_privileges()
    assert (lacked, store.lacks_write_privileges) == (True, False)
    store.put_session_key(KEY)
    store.put_connector("kc-src", CONFIG)
    store.put_task_configs("kc-src", [TASK])
    store.put_restart_request("kc-src", only_failed=False, include_tasks=True)
    store.put_target_state("kc-src", TargetState.PAUSED)
    store.put_task_count_record("kc-src", 1)
    found = stores.read_log(stores.config_topic.name)
    assert [(key, value) for key, value, _ in found] == [*JAVAS[:6], ("tasks-fencing-kc-src", '{"task-count":1}')]
    # The marker of each transaction takes an offset, of which Java's workers take no notice either. Brokers write it
    # soon after the commit: the next transaction waits for it, the target state, which is in none, does not.
    offsets = [offset for _, _, offset in found]
    assert offsets in ([0, 2, 4, 6, 8, 10, 11], [0, 2, 4, 6, 8, 9, 11])
    assert store.snapshot().offset == stores.config(fencing_id=FENCING_ID).snapshot().offset == 12


@pytest.mark.parametrize("isolation", ["read_uncommitted", READ_COMMITTED])
def test_a_fencable_leader_has_read_what_it_wrote(
    stores: Stores, monkeypatch: pytest.MonkeyPatch, isolation: str
) -> None:
    store, ends_asked, end_offsets = (
        stores.config(fencing_id=FENCING_ID, isolation=isolation),
        [],
        stores.admin.end_offsets,
    )

    def asked(topic: str, partitions: list[int], seconds: float, isolation: IsolationLevel) -> dict[int, int]:
        ends_asked.append(topic)
        return end_offsets(topic, partitions, seconds, isolation)

    store.claim_write_privileges()
    monkeypatch.setattr(stores.admin, "end_offsets", asked)
    took = []
    for number in range(20):
        began = time.monotonic()
        store.put_connector("kc-src", {"number": str(number)})
        assert store.snapshot().connector_config("kc-src") == {"number": str(number)}
        took.append(time.monotonic() - began)
        store.put_task_configs("kc-src", [{**TASK, "number": str(number)}])
        assert (store.snapshot().task_config(TaskId("kc-src", 0)) or {})["number"] == str(number)
    assert sorted(took)[10] < 0.1, took
    assert len(ends_asked) == 20  # once for each set of tasks, so that no record of another leader is missed


def test_a_leader_without_transactions_is_named_once(stores: Stores, caplog: pytest.LogCaptureFixture) -> None:
    """A worker with tasks in transactions warns of a leader that has not been prepared for them."""
    leader, plain = stores.config(fencing_id=FENCING_ID), stores.config()
    plain.put_connector("before", CONFIG)
    enabled = stores.config(fencing_id=FENCING_ID, isolation=READ_COMMITTED)
    enabled.refresh(SECONDS)
    leader.claim_write_privileges()
    leader.put_connector("kc-src", CONFIG)
    enabled.refresh(SECONDS)
    plain.put_target_state("kc-src", TargetState.PAUSED)  # which any worker writes
    enabled.refresh(SECONDS)
    assert "without a transaction" not in caplog.text
    for _ in range(2):
        plain.put_task_count_record("kc-src", 1)
        enabled.refresh(SECONDS)
    (warned,) = [text for text in caplog.messages if "without a transaction" in text]
    topic = stores.config_topic.name
    assert warned.startswith(f"A leader of this group has written 'tasks-fencing-kc-src' to config topic '{topic}' wit")


def test_a_later_leader_fences_out_a_former_one(stores: Stores) -> None:
    former, later = (stores.config(fencing_id=FENCING_ID) for _ in range(2))
    refused = r"^Failed to write to config topic; this may be due to a transient error and the request can be safely"
    with pytest.raises(PrivilegedWriteError, match=refused):
        former.put_connector("kc-src", CONFIG)
    former.claim_write_privileges()
    former.put_connector("kc-src", CONFIG)
    later.claim_write_privileges()
    with pytest.raises(PrivilegedWriteError, match=refused):
        former.put_connector("kc-src", {**CONFIG, "tasks.max": "2"})
    assert former.lacks_write_privileges
    later.put_connector("kc-src", {**CONFIG, "tasks.max": "3"})
    former.refresh(SECONDS)
    assert (former.snapshot().connector_config("kc-src") or {})["tasks.max"] == "3"
    former.claim_write_privileges()
    former.put_connector("kc-src", {**CONFIG, "tasks.max": "4"})
    written = [json.loads(value or "{}") for _, value, _ in stores.read_log(stores.config_topic.name)]
    assert [one["properties"]["tasks.max"] for one in written] == ["1", "3", "4"]


def test_a_fencable_leader_writes_nothing_without_its_lease(stores: Stores) -> None:
    member = [True]
    store = stores.config(permitted=lambda: member[0], fencing_id=FENCING_ID)
    store.claim_write_privileges()
    member[0] = False
    with pytest.raises(NotPermittedError, match="it is not in the group"):
        store.put_connector("kc-src", CONFIG)
    assert stores.read_log(stores.config_topic.name) == []


def test_what_java_wrote_is_heard_and_stays(stores: Stores) -> None:
    stores.config().stop()
    stores.write_raw(stores.config_topic.name, *JAVAS[:4])
    events: list[Event] = []
    store = stores.config(events)
    state = store.snapshot()
    assert events == []  # what was there before the start is in the snapshot
    assert (state.offset, state.session_key, state.connectors()) == (4, KEY, frozenset({"kc-src"}))
    assert (state.connector_config("kc-src"), state.all_task_configs("kc-src")) == (
        CONFIG,
        {TaskId("kc-src", 0): TASK},
    )
    stores.write_raw(stores.config_topic.name, *JAVAS[4:])
    store.refresh(SECONDS)
    assert events == EVENTS[3:]
    assert not store.contains("kc-src")


def test_a_connector_is_created_with_its_initial_state(stores: Stores) -> None:
    store = stores.config()
    store.put_connector("c", {"name": "c", "unset": None}, TargetState.PAUSED)
    assert stores.read_raw(stores.config_topic.name)[0] == [
        ("target-state-c", '{"state":"PAUSED","state.v2":"PAUSED"}'),
        ("connector-c", '{"properties":{"name":"c","unset":null}}'),
    ]
    assert store.snapshot().target_state("c") is TargetState.PAUSED


def test_workers_see_each_others_writes_in_milliseconds(stores: Stores) -> None:
    events: list[Event] = []
    writer, reader = stores.config(), stores.config(events)
    writer.put_connector("warm-up", {})
    wait_until(lambda: reader.contains("warm-up"), "see the first connector")
    took = []
    for number in range(10):
        name = f"c{number}"
        began = time.monotonic()
        writer.put_connector(name, CONFIG)
        wait_until(lambda name=name: reader.contains(name), "see the connector")  # type: ignore[misc]
        took.append(time.monotonic() - began)
        assert writer.contains(name)
    assert sorted(took)[5] < 0.1, took
    assert events == [ConnectorUpdated(name) for name in ("warm-up", *(f"c{number}" for number in range(10)))]
    assert writer.snapshot() == reader.snapshot()


def test_records_of_others_do_no_harm(stores: Stores, caplog: pytest.LogCaptureFixture) -> None:
    stores.config().stop()
    stores.write_raw(stores.config_topic.name, ("stranger", "{}"), ("connector-a", "{"), ("connector-b", "[]"))
    store = stores.config()
    store.put_connector("c", CONFIG)
    assert store.snapshot().connectors() == frozenset({"c"})
    left_out = [text for text in caplog.messages if text.startswith("Left out in config topic")]
    assert [text.partition("': ")[2].split(":")[0] for text in left_out] == [
        "stranger at offset 0",
        "the value of connector-a at offset 1 is not JSON",
        "connector-b at offset 2",
    ]


def test_a_worker_outside_its_group_writes_nothing(stores: Stores) -> None:
    permitted = threading.Event()
    store = stores.config(permitted=permitted.is_set)
    with pytest.raises(NotPermittedError):
        store.put_connector("c", CONFIG)
    with pytest.raises(NotPermittedError):
        store.put_task_configs("c", [TASK])
    assert stores.read_raw(stores.config_topic.name) == {}


@pytest.mark.nightly
def test_brokers_that_do_not_answer_are_an_error(
    own_broker: EmbeddedBroker, own_stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = own_stores.config()
    store.put_connector("c", CONFIG)
    monkeypatch.setattr(config_store, "_WRITE_SECONDS", 1.0)
    own_broker.pause()
    # A broker that stops between taking the record and answering lets the write pass and the reading back wait.
    late = r"(The brokers did not acknowledge|Topic 'own-configs' was not read up to)"
    with pytest.raises(ConnectError, match=rf"^Error writing target state to Kafka: {late}"):
        store.put_target_state("c", TargetState.PAUSED)
    with pytest.raises(ConnectError, match=r"^Error writing root configuration to Kafka"):
        store.put_task_configs("c", [TASK])
    with pytest.raises(TimeoutError):
        store.refresh(0.5)
    assert store.contains("c")
    own_broker.resume()
    monkeypatch.undo()
    store.put_task_configs("c", [TASK])
    assert store.snapshot().tasks("c") == [TaskId("c", 0)], own_stores.read_raw(own_stores.config_topic.name)
