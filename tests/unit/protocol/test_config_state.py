"""The config topic's table: what follows from its records, in whatever state compaction or a dead leader left them."""

from __future__ import annotations

import json
import re

import pytest

from connect_dagster.protocol.config_records import SessionKey
from connect_dagster.protocol.config_state import (
    ClusterConfigState,
    ConfigTable,
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
from tests.unit.protocol.kcat_records import RECORDS

Line = tuple[str, object]


class Topic:
    """A table and the offset of its next record."""

    def __init__(self, *lines: Line) -> None:
        self.table = ConfigTable()
        self.offset = 0
        self.write(*lines)

    def write(self, *lines: Line) -> list[Event]:
        """Append records, values as JSON; answers the events. Fails where a record is not understood."""
        events: list[Event] = []
        for key, value in lines:
            applied = self.table.apply(key, None if value is None else json.dumps(value).encode(), self.offset)
            self.offset += 1
            assert applied.problem is None
            events += applied.events
        return events

    def problem(self, key: str | None, value: bytes | None) -> str:
        """Append a record that is left out, and answer why."""
        applied = self.table.apply(key, value, self.offset)
        self.offset += 1
        assert applied.problem is not None
        return applied.problem

    @property
    def state(self) -> ClusterConfigState:
        return self.table.snapshot()


def config(**properties: str | None) -> dict[str, object]:
    return {"properties": properties}


def commit(tasks: int) -> dict[str, object]:
    return {"tasks": tasks}


CREATED: tuple[Line, ...] = (
    ("connector-a", config(v="1")),
    ("task-a-0", config(t="0")),
    ("task-a-1", config(t="1")),
    ("commit-a", commit(2)),
)
FIRST, SECOND = TaskId("a", 0), TaskId("a", 1)


def test_an_empty_topic() -> None:
    state = Topic().state
    assert (state.offset, state.session_key, state.connectors()) == (-1, None, frozenset())
    assert (state.connector_config("a"), state.target_state("a"), state.tasks("a")) == (None, None, [])
    assert (state.task_count("a"), state.task_config(FIRST), state.applied_connector_config("a")) == (0, None, None)
    assert state.task_count_record("a") is None
    assert not state.contains("a")
    assert not state.pending_fencing("a")


def test_tasks_are_there_with_their_commit() -> None:
    topic = Topic(*CREATED[:3])
    assert (topic.state.tasks("a"), topic.state.task_config(FIRST)) == ([], None)
    assert topic.state.offset == 3
    assert topic.write(CREATED[3]) == [TasksUpdated("a", (FIRST, SECOND))]
    state = topic.state
    assert state.tasks("a") == [FIRST, SECOND]
    assert state.all_task_configs("a") == {FIRST: {"t": "0"}, SECOND: {"t": "1"}}
    assert (state.task_count("a"), state.pending_fencing("a")) == (2, True)
    assert (state.offset, state.target_state("a")) == (4, TargetState.STARTED)


def test_events_of_a_connectors_life() -> None:
    topic = Topic()
    assert topic.write(*CREATED) == [ConnectorUpdated("a"), TasksUpdated("a", (FIRST, SECOND))]
    assert topic.write(("target-state-a", {"state": "PAUSED", "state.v2": "PAUSED"})) == [TargetStateChanged("a")]
    assert topic.write(("target-state-a", {"state": "PAUSED", "state.v2": "PAUSED"})) == []
    assert topic.write(("restart-connector-a", {"include-tasks": True, "only-failed": False})) == [
        RestartRequested("a", only_failed=False, include_tasks=True)
    ]
    assert topic.write(("logger-cluster-org.apache", {"level": "WARN"})) == [LoggerLevelChanged("org.apache", "WARN")]
    key = {"key": "AP8=", "algorithm": "HmacSHA256", "creation-timestamp": 7}
    assert topic.write(("session-key", key)) == [SessionKeyUpdated(SessionKey(b"\x00\xff", "HmacSHA256", 7))]
    assert topic.write(("connector-a", None), ("target-state-a", None)) == [ConnectorRemoved("a")]


def test_a_deleted_connector_leaves_no_tasks() -> None:
    topic = Topic(*CREATED)
    topic.write(("connector-a", None))
    assert topic.state.target_state("a") is TargetState.STARTED  # until its own tombstone
    topic.write(("target-state-a", None))
    state = topic.state
    assert (state.connectors(), state.tasks("a"), state.task_count("a")) == (frozenset(), [], 0)
    assert (state.task_config(FIRST), state.applied_connector_config("a"), state.target_state("a")) == (None,) * 3


def test_an_initial_state_stands_before_its_connector() -> None:
    topic = Topic()
    assert topic.write(("target-state-a", {"state": "PAUSED", "state.v2": "STOPPED"})) == []
    assert topic.state.connectors() == frozenset()
    assert topic.write(("connector-a", config())) == [ConnectorUpdated("a")]
    assert topic.state.target_state("a") is TargetState.STOPPED


def test_a_state_that_is_taken_away_is_started() -> None:
    topic = Topic(*CREATED, ("target-state-a", {"state": "PAUSED"}))
    assert topic.write(("target-state-a", None)) == []
    assert topic.state.target_state("a") is TargetState.STARTED


@pytest.mark.parametrize(
    ("value", "state"),
    [
        ({"state": "PAUSED"}, TargetState.PAUSED),
        ({"state": "PAUSED", "state.v2": None}, TargetState.PAUSED),
        ({"state": "PAUSED", "state.v2": 7}, TargetState.PAUSED),
        ({"state": "PAUSED", "state.v2": "STOPPED"}, TargetState.STOPPED),
        ({"state.v2": "STARTED"}, TargetState.STARTED),
    ],
)
def test_states_of_older_workers_are_read(value: object, state: TargetState) -> None:
    assert Topic(*CREATED, ("target-state-a", value)).state.target_state("a") is state


def test_a_set_with_a_hole_is_inconsistent_until_it_is_published_anew() -> None:
    """Compaction took task 0 of the first set, and the leader died after one record of the second."""
    topic = Topic(("connector-a", config()), CREATED[2], ("commit-a", commit(2)), ("task-a-0", config(t="new")))
    assert (topic.state.tasks("a"), topic.state.all_task_configs("a"), topic.state.task_config(SECOND)) == (
        [],
        {},
        None,
    )
    assert (topic.state.inconsistent_connectors(), topic.state.task_count("a")) == (frozenset({"a"}), 2)
    assert topic.state.applied_connector_config("a") is None
    assert topic.write(("task-a-0", config(t="newest")), ("commit-a", commit(1))) == [TasksUpdated("a", (FIRST,))]
    state = topic.state
    assert (state.tasks("a"), state.inconsistent_connectors()) == ([FIRST], frozenset())
    assert state.task_config(FIRST) == {"t": "newest"}


def test_records_of_a_larger_set_before_do_no_harm() -> None:
    topic = Topic(CREATED[0], CREATED[2], CREATED[1], ("commit-a", commit(1)))
    assert (topic.state.tasks("a"), topic.state.inconsistent_connectors()) == ([FIRST], frozenset())


def test_a_connector_that_stops_has_no_tasks() -> None:
    topic = Topic(*CREATED)
    assert topic.write(("commit-a", commit(0))) == [TasksUpdated("a", ())]
    state = topic.state
    assert (state.tasks("a"), state.task_count("a"), state.inconsistent_connectors()) == ([], 0, frozenset())


def test_tasks_know_the_configuration_they_were_made_from() -> None:
    topic = Topic(*CREATED, ("connector-a", config(v="2")))
    state = topic.state
    assert (state.connector_config("a"), state.applied_connector_config("a")) == ({"v": "2"}, {"v": "1"})
    topic.write(*CREATED[1:])
    assert topic.state.applied_connector_config("a") == {"v": "2"}


def test_configurations_have_the_offsets_of_their_records() -> None:
    topic = Topic(*CREATED)
    assert (topic.state.config_offset("a"), topic.state.commit_offset("a")) == (0, 3)
    assert topic.state.has_planned_tasks("a")
    topic.write(("connector-a", config(v="2")))
    assert (topic.state.config_offset("a"), topic.state.commit_offset("a")) == (4, 3)
    assert not topic.state.has_planned_tasks("a")
    topic.write(CREATED[0])
    assert topic.state.has_planned_tasks("a")
    topic.write(("commit-a", commit(3)))
    assert not topic.state.has_planned_tasks("a")
    topic.write(("connector-a", None))
    assert (topic.state.config_offset("a"), topic.state.commit_offset("a")) == (None, None)


def test_what_compaction_left_of_a_deleted_connector_means_nothing() -> None:
    """KAFKA-16838: the connector's record and its tombstone are gone, its tasks are not."""
    topic = Topic()
    assert topic.write(*CREATED[1:], ("tasks-fencing-a", {"task-count": 2})) == []
    state = topic.state
    assert (state.connectors(), state.task_count("a"), state.tasks("a")) == (frozenset(), 0, [])
    assert (state.task_config(FIRST), state.task_count_record("a")) == (None, 2)
    topic.write(("connector-a", config()), ("commit-a", commit(0)))
    assert topic.state.tasks("a") == []  # nor do its old tasks come back


def test_fencing_is_due_after_each_commit() -> None:
    topic = Topic(*CREATED, ("tasks-fencing-a", {"task-count": 4}))
    assert (topic.state.pending_fencing("a"), topic.state.task_count_record("a")) == (False, 4)
    topic.write(*CREATED[1:])
    assert topic.state.pending_fencing("a")


def test_snapshots_never_change() -> None:
    topic = Topic(*CREATED)
    before = topic.state
    assert topic.state is before
    (before.connector_config("a") or {})["v"] = "spoilt"
    topic.write(("connector-a", config(v="2")), ("task-a-0", config(t="9")), ("commit-a", commit(1)))
    assert (before.connector_config("a"), before.task_config(FIRST), before.offset) == ({"v": "1"}, {"t": "0"}, 4)
    assert before.tasks("a") == [FIRST, SECOND]


def test_values_that_are_no_texts_are_kept_as_texts() -> None:
    topic = Topic(("connector-a", {"properties": {"n": 1, "b": True, "null": None, "s": "x"}}))
    assert topic.state.connector_config("a") == {"n": "1", "b": "true", "null": None, "s": "x"}


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("connector-a", b'"x"', 'a JSON object expected, found "x"'),
        ("connector-a", b'{"properties":[]}', "'properties' should be a JSON object, found []"),
        ("task-a-0", None, "a JSON object expected, found null"),
        ("task-a", b'{"properties":{}}', "the key names no task"),
        ("commit-a", b'{"tasks":"2"}', "'tasks' should be a whole number, found \"2\""),
        ("commit-a", b'{"tasks":true}', "'tasks' should be a whole number, found true"),
        ("target-state-a", b'{"state":"GONE"}', "one of STARTED, PAUSED, STOPPED expected, found"),
        ("target-state-a", b'{"state":"PAUSED","state.v2":"GONE"}', "one of STARTED, PAUSED, STOPPED expected"),
        ("tasks-fencing-a", None, "a JSON object expected, found null"),
        ("session-key", None, "a JSON object expected, found null"),
        ("session-key", b'{"key":"*","algorithm":"HmacSHA256","creation-timestamp":1}', "'key' is not base64"),
        ("session-key", b'{"key":"AP8=","algorithm":7,"creation-timestamp":1}', "'algorithm' should be a text"),
        ("session-key", b'{"key":"AP8=","algorithm":"HmacSHA256"}', "'creation-timestamp' should be a whole number"),
        ("logger-cluster-x", b'{"level":null}', "'level' should be a text, found null"),
        ("restart-connector-a", None, "a JSON object expected, found null"),
        ("unknown", b"{}", "no record of the config topic has such a key"),
        ("session-key-2", b"{}", "no record of the config topic has such a key"),
    ],
)
def test_a_record_that_makes_no_sense_is_left_out_with_its_reason(key: str, value: bytes | None, reason: str) -> None:
    topic = Topic(*CREATED)
    problem = topic.problem(key, value)
    assert problem.startswith(f"{key} at offset 4: {reason}")
    assert (topic.state.offset, topic.state.tasks("a")) == (5, [FIRST, SECOND])
    assert topic.state.target_state("a") is TargetState.STARTED


def test_a_record_without_key_is_left_out() -> None:
    assert re.search("no record of the config topic has such a key", Topic().problem(None, b"{}"))


def test_a_value_that_is_not_json_does_not_count() -> None:
    """All workers must name the same offset to the group; Java's leaves such a record out of it."""
    topic = Topic(*CREATED)
    assert topic.problem("connector-a", b"{").startswith("the value of connector-a at offset 4 is not JSON")
    assert topic.state.offset == 4


@pytest.mark.parametrize("value", [b"{}", b'{"only-failed":"yes","include-tasks":1}'])
def test_restart_requests_with_wrong_flags_are_heard(value: bytes) -> None:
    applied = ConfigTable().apply("restart-connector-a", value, 0)
    assert applied.events == (RestartRequested("a", only_failed=False, include_tasks=False),)
    assert applied.problem is not None
    assert "true or false expected, taken as false" in applied.problem


def test_s2_09_a_task_counts_with_its_commit() -> None:
    record = next(one for one in RECORDS if one["topic"] == "connect-configs")
    name = "mysql_cdc_ops_source_avro_01"
    topic = Topic((f"connector-{name}", config()), (record["key"], json.loads(record["payload"])))
    assert topic.state.tasks(name) == []
    topic.write((f"commit-{name}", commit(1)))
    assert topic.state.tasks(name) == [TaskId(name, 0)]
    properties = topic.state.task_config(TaskId(name, 0)) or {}
    assert len(properties) == 26
    assert properties["transforms.rename_topic.regex"] == r"(.*)\.(.*)\.(.*)"
