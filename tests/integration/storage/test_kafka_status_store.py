"""The status topic: reports of all workers, and which of them count."""

from __future__ import annotations

import logging
import threading
from dataclasses import replace

import pytest

from connect_dagster.embedded.broker import EmbeddedBroker
from connect_dagster.protocol.states import State, Status, TaskId
from connect_dagster.protocol.status_records import status_value
from connect_dagster.storage import topic_log
from tests.integration.storage.stores import SECONDS, Raw, Stores, wait_until

ID = TaskId("kc-src", 0)
RUNNING = Status(State.RUNNING, "localhost:38083", None, "4.3.1", 3)
UNASSIGNED = Status(State.UNASSIGNED, "localhost:38083", None, None, 4)
JAVAS: list[Raw] = [
    (
        "status-connector-kc-src",
        '{"state":"RUNNING","trace":null,"worker_id":"localhost:38083","generation":3,"version":"4.3.1"}',
    ),
    (
        "status-task-kc-src-0",
        '{"state":"RUNNING","trace":null,"worker_id":"localhost:38083","generation":3,"version":"4.3.1"}',
    ),
    (
        "status-topic-kc-t:connector-kc-src",
        '{"topic":{"name":"kc-t","connector":"kc-src","task":0,"discoverTimestamp":1795206883969}}',
    ),
]


def raw(stores: Stores) -> list[Raw]:
    """All records of the topic, sorted by key, those of a key in their order."""
    found = stores.read_raw(stores.status_topic.name)
    return sorted((record for records in found.values() for record in records), key=lambda record: record[0])


def test_what_is_written_is_what_java_writes(stores: Stores) -> None:
    store = stores.status()
    store.put_connector("kc-src", RUNNING)
    store.put_task(ID, RUNNING)
    store.put_task(ID, UNASSIGNED)
    store.put_topic("kc-src", 0, "kc-t", 1795206883969)
    store.flush()
    unassigned = '{"state":"UNASSIGNED","trace":null,"worker_id":"localhost:38083","generation":4,"version":null}'
    assert raw(stores) == [*JAVAS[:2], ("status-task-kc-src-0", unassigned), JAVAS[2]]


def test_what_java_wrote_is_read(stores: Stores) -> None:
    stores.status().stop()
    stores.write_raw(stores.status_topic.name, *JAVAS)
    store = stores.status()
    assert (store.connector("kc-src"), store.task(ID), store.tasks("kc-src")) == (RUNNING, RUNNING, ((0, RUNNING),))
    assert (store.connectors(), store.topics("kc-src")) == ({"kc-src"}, ["kc-t"])
    assert (store.connector("x"), store.task(TaskId("x", 0)), store.tasks("x"), store.topics("x")) == (
        None,
        None,
        (),
        [],
    )


def test_workers_see_each_others_reports_and_their_end(stores: Stores) -> None:
    writer, reader = stores.status(), stores.status()
    writer.put_connector("kc-src", RUNNING)
    for number in (10, 2):
        writer.put_task(TaskId("kc-src", number), RUNNING)
    writer.put_topic("kc-src", 2, "b", 1)
    writer.put_topic("kc-src", 2, "a", 1)
    wait_until(lambda: reader.topics("kc-src") == ["a", "b"] and len(reader.tasks("kc-src")) == 2, "see the reports")
    assert [number for number, _ in reader.tasks("kc-src")] == [2, 10]

    writer.put_task(TaskId("kc-src", 2), Status(State.DESTROYED, "localhost:38083"))
    wait_until(lambda: [number for number, _ in reader.tasks("kc-src")] == [10], "see the task's end")
    reader.reset_topics("kc-src")
    wait_until(lambda: writer.topics("kc-src") == [], "forget the topics")
    writer.put_connector("kc-src", Status(State.DESTROYED, "localhost:38083"))
    wait_until(lambda: reader.connectors() == set(), "see the connector's end")
    assert (reader.tasks("kc-src"), reader.connector("kc-src")) == ((), None)


def test_safe_reports_do_not_replace_newer_ones(stores: Stores) -> None:
    store = stores.status()
    newer = Status(State.RUNNING, "other:8083", None, "4.3.1", 9)
    late = Status(State.PAUSED, "localhost:38083", None, "4.3.1", 8)
    store.put_connector_safe("kc-src", newer)
    store.put_task_safe(ID, newer)
    wait_until(lambda: store.connector("kc-src") == store.task(ID) == newer, "read them back")
    store.put_connector_safe("kc-src", late)
    store.put_task_safe(ID, late)
    store.flush()
    store.refresh(SECONDS)
    assert (store.connector("kc-src"), store.task(ID)) == (newer, newer)
    store.put_task(ID, late)
    wait_until(lambda: store.task(ID) == late, "take the report that is not safe")


def test_records_of_others_do_no_harm(stores: Stores, caplog: pytest.LogCaptureFixture) -> None:
    stores.status().stop()
    stores.write_raw(stores.status_topic.name, ("stranger", "{}"), ("status-task-kc-src-0", "[]"), *JAVAS)
    assert stores.status().task(ID) == RUNNING
    assert "stranger: no record of the status topic has such a key" in caplog.text
    assert "status-task-kc-src-0: a JSON object expected, found []" in caplog.text


def test_a_worker_outside_its_group_reports_nothing(stores: Stores, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    permitted = threading.Event()
    store = stores.status(permitted.is_set)
    store.put_connector("kc-src", RUNNING)
    store.put_topic("kc-src", 0, "t", 1)
    assert "Dropped status update status-connector-kc-src: This worker may not write" in caplog.text
    assert raw(stores) == []
    permitted.set()
    store.put_task(ID, RUNNING)
    store.flush()
    assert raw(stores) == [JAVAS[1]]


@pytest.mark.nightly
def test_after_a_time_without_brokers_the_latest_report_is_written(
    own_broker: EmbeddedBroker, own_stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(topic_log._PRODUCER, "message.timeout.ms", 1000)
    store = own_stores.status()
    store.put_task(ID, RUNNING)
    wait_until(lambda: store.task(ID) == RUNNING, "read it back")
    own_broker.stop()
    paused = Status(State.PAUSED, "localhost:38083", None, "4.3.1", 3)
    failed = Status(State.FAILED, "localhost:38083", "trace", "4.3.1", 3)
    for status in (paused, failed):
        store.put_task(ID, status)
    store.put_connector("other", replace(RUNNING, generation=4))  # a later one, in which the task runs on
    threading.Event().wait(2)  # both have timed out in the client by then, and only the latest goes on
    own_broker.start()
    wait_until(lambda: store.task(ID) == failed, "write the latest", 60)
    states = [(value or "").split('"')[3] for key, value in raw(own_stores) if key == "status-task-kc-src-0"]
    assert states == ["RUNNING", "FAILED"]


@pytest.mark.nightly
def test_a_report_waits_no_longer_when_another_worker_has_reported(
    own_broker: EmbeddedBroker, own_stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(topic_log._PRODUCER, "message.timeout.ms", 1000)
    store, others = own_stores.status(), own_stores.status()
    own_broker.stop()
    store.put_task(ID, RUNNING)
    taken = Status(State.RUNNING, "localhost:1", None, "4.3.1", 4)
    store._table.apply("status-task-kc-src-0", status_value(taken))
    threading.Event().wait(2)
    own_broker.start()
    others.put_task(ID, taken)
    wait_until(lambda: others.task(ID) == taken, "write the other's", 60)
    store.flush()
    assert len(raw(own_stores)) == 1
