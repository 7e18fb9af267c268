"""Records of the status topic, and what follows from them."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect_dagster.protocol import status_records as records
from connect_dagster.protocol.states import State, Status, TaskId
from connect_dagster.protocol.status_records import StatusTable, TopicUse, may_write_safely
from tests.unit.protocol.kcat_records import RECORDS

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
STATUSES = st.builds(
    Status,
    st.sampled_from([state for state in State if state is not State.DESTROYED]),
    TEXTS,
    st.none() | TEXTS,
    st.none() | TEXTS,
    st.integers(-1, 2**31 - 1),
)
RUNNING = Status(State.RUNNING, "localhost:38083", None, "4.3.1", 3)
ID = TaskId("kc-src", 0)


def table(*lines: tuple[str, bytes | None]) -> StatusTable:
    """The table after some records, all of which it understands."""
    made = StatusTable()
    assert [made.apply(key, value) for key, value in lines] == [None] * len(lines)
    return made


def test_s2_07_statuses_have_five_keys_and_names_of_their_own() -> None:
    assert records.status_value(RUNNING) == (
        b'{"state":"RUNNING","trace":null,"worker_id":"localhost:38083","generation":3,"version":"4.3.1"}'
    )
    assert records.connector_key("c") == "status-connector-c"
    assert records.task_key(TaskId("c", 0)) == "status-task-c-0"
    assert records.topic_key("c", "t") == "status-topic-t:connector-c"


def test_other_values_are_javas_bytes() -> None:
    failed = Status(State.FAILED, "h:1", "java.lang.Error\n\tat a.b", None, 0)
    assert records.status_value(failed) == (
        b'{"state":"FAILED","trace":"java.lang.Error\\n\\tat a.b","worker_id":"h:1","generation":0,"version":null}'
    )
    assert records.status_value(Status(State.DESTROYED, "h:1")) is None
    assert records.topic_value(TopicUse("kc-t", "kc-src", 0, 1795206883969)) == (
        b'{"topic":{"name":"kc-t","connector":"kc-src","task":0,"discoverTimestamp":1795206883969}}'
    )


def test_s2_06_records_of_an_older_connect_are_read() -> None:
    lines = [(one["key"], one["payload"].encode()) for one in RECORDS if one["topic"] == "connect-status"]
    read = table(*lines)
    assert read.connectors == {
        "postgres_jdbc_ops_sink_customers_avro_01": Status(State.RUNNING, "127.0.1.1:8083", None, None, 8)
    }
    assert read.tasks == {
        "postgres_jdbc_ops_sink_order_items_avro_01": {0: Status(State.RUNNING, "127.0.1.1:8083", None, None, 11)}
    }


def test_names_may_have_dashes() -> None:
    read = table((records.task_key(TaskId("a-b-0", 1)), records.status_value(RUNNING)))
    assert read.tasks == {"a-b-0": {1: RUNNING}}


def test_a_deleted_connector_takes_its_tasks_along() -> None:
    value = records.status_value(RUNNING)
    read = table(
        ("status-connector-kc-src", value),
        ("status-task-kc-src-0", value),
        ("status-task-kc-src-1", value),
        ("status-task-other-0", value),
        ("status-task-kc-src-1", None),
        ("status-task-kc-src-1", None),
        ("status-connector-kc-src", None),
    )
    assert (read.connectors, read.tasks) == ({}, {"other": {0: RUNNING}})


def test_topics_come_and_go() -> None:
    use = TopicUse("t", "c-d", 1, 7)
    read = table((records.topic_key("c-d", "t"), records.topic_value(use)), ("status-topic-u:connector-c-d", None))
    assert read.topics == {"c-d": {"t": use}}
    read.apply("status-topic-t:connector-c-d", None)
    read.apply("status-topic-t:connector-unknown", None)
    assert read.topics == {"c-d": {}}


@pytest.mark.parametrize(
    ("current", "generation", "kept"),
    [(State.RUNNING, 3, True), (State.RUNNING, 2, True), (State.RUNNING, 4, False), (State.PAUSED, 3, False)],
)
def test_a_former_owners_unassigned_does_not_hide_a_running_task(current: State, generation: int, kept: bool) -> None:
    now, late = Status(current, "new:1", generation=3), Status(State.UNASSIGNED, "old:1", generation=generation)
    read = table(*[("status-task-kc-src-0", records.status_value(one)) for one in (now, late)])
    assert read.task(ID) == (now if kept else late)


def test_connectors_take_any_unassigned() -> None:
    late = Status(State.UNASSIGNED, "old:1", generation=1)
    read = table(*[("status-connector-kc-src", records.status_value(one)) for one in (RUNNING, late)])
    assert read.connectors["kc-src"] == late


@pytest.mark.parametrize(
    ("current", "allowed"),
    [
        (None, True),
        (Status(State.RUNNING, "me:1", generation=9), True),
        (Status(State.RUNNING, "other:1", generation=5), True),
        (Status(State.RUNNING, "other:1", generation=6), False),
    ],
)
def test_a_safe_report_does_not_replace_a_later_generations(current: Status | None, allowed: bool) -> None:
    assert may_write_safely(Status(State.UNASSIGNED, "me:1", generation=5), current) is allowed


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("status-connector-", b"{}", "the key names no connector"),
        ("status-task-a", b"{}", "the key names no task"),
        ("status-task-a-b", b"{}", "the key names no task"),
        ("status-topic-t", b"{}", "the key names no topic or no connector"),
        ("status-topic-:connector-c", b"{}", "the key names no topic or no connector"),
        ("status-topic-t:connector-", None, "the key names no topic or no connector"),
        ("unknown", b"{}", "no record of the status topic has such a key"),
        (None, b"{}", "no record of the status topic has such a key"),
        ("status-connector-a", b"[]", "a JSON object expected, found []"),
        ("status-connector-a", b'{"state":"GONE","generation":1}', "'state' should be one of UNASSIGNED, RUNNING"),
        ("status-connector-a", b'{"state":"RUNNING","worker_id":"h:1"}', "'generation' should be a whole number"),
        ("status-connector-a", b'{"state":"RUNNING","worker_id":7,"generation":1}', "'worker_id' should be a text"),
        ("status-task-a-0", b"{", "Expecting property name"),
        ("status-topic-t:connector-c", b'{"topic":7}', "'topic' should be a JSON object, found 7"),
        ("status-topic-t:connector-c", b'{"topic":{"name":"t"}}', "'task' should be a whole number, found None"),
    ],
)
def test_a_record_that_makes_no_sense_is_left_out_with_its_reason(
    key: str | None, value: bytes | None, reason: str
) -> None:
    made = StatusTable()
    problem = made.apply(key, value)
    assert problem is not None
    assert problem.startswith(f"{key or ''}: {reason}")
    assert (made.connectors, made.tasks, made.topics) == ({}, {}, {})


@given(STATUSES)
def test_statuses_are_read_as_written(status: Status) -> None:
    value = records.status_value(status)
    assert value is not None
    assert records.parse_status(value) == status
    assert list(json.loads(value)) == ["state", "trace", "worker_id", "generation", "version"]


def test_a_header_has_the_version_of_the_configuration() -> None:
    versioned = replace(RUNNING, config_offset=17)
    value, headers = records.status_value(versioned), records.status_headers(versioned)
    assert (value, headers) == (records.status_value(RUNNING), [("connect_dagster.config.offset", b"17")])
    made = StatusTable()
    made.apply("status-connector-a", value, headers)
    made.apply("status-task-a-0", value, [("trace", b"x"), *headers])
    assert (made.connectors["a"], made.tasks["a"][0]) == (versioned, versioned)


@pytest.mark.parametrize("headers", [[], [("connect_dagster.config.offset", b"-1")], [("other", b"17")]])
def test_a_status_without_a_version_is_read(headers: list[tuple[str, bytes]]) -> None:
    made = StatusTable()
    assert made.apply("status-connector-a", records.status_value(RUNNING), headers) is None
    assert made.connectors["a"].config_offset is None
    assert records.status_headers(made.connectors["a"]) == []


@given(TEXTS, TEXTS, st.integers(0, 2**31 - 1), st.integers(0, 2**63 - 1))
def test_topics_are_read_as_written(topic: str, connector: str, task: int, discovered: int) -> None:
    use = TopicUse(topic, connector, task, discovered)
    assert records.parse_topic(records.topic_value(use)) == use
