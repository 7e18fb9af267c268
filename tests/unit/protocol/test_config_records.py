"""Records of the config topic: the bytes that Java's workers write."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect_dagster.java.jackson import from_json, to_json
from connect_dagster.protocol import config_records as records
from connect_dagster.protocol.config_records import SessionKey
from connect_dagster.protocol.config_state import ConfigTable, RestartRequested
from connect_dagster.protocol.states import TargetState, TaskId

NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
CONFIGS = st.dictionaries(NAMES, st.none() | st.text(st.characters(exclude_categories=["Cs"])))


def test_keys() -> None:
    assert records.connector_key("kc-src") == "connector-kc-src"
    assert records.task_key(TaskId("kc-src", 0)) == "task-kc-src-0"
    assert records.commit_key("kc-src") == "commit-kc-src"
    assert records.restart_key("kc-src") == "restart-connector-kc-src"
    assert records.target_state_key("kc-src") == "target-state-kc-src"
    assert records.fencing_key("kc-src") == "tasks-fencing-kc-src"
    assert records.logger_key("org.apache") == "logger-cluster-org.apache"


def test_values_are_javas_bytes() -> None:
    assert records.properties_value({"tasks.max": "1", "name": "c", "unset": None}) == (
        b'{"properties":{"tasks.max":"1","name":"c","unset":null}}'
    )
    assert records.commit_value(1) == b'{"tasks":1}'
    assert records.restart_value(only_failed=False, include_tasks=True) == b'{"include-tasks":true,"only-failed":false}'
    assert records.fencing_value(2) == b'{"task-count":2}'
    assert records.logger_value("WARN") == b'{"level":"WARN"}'
    assert records.session_key_value(SessionKey(b"\x00\xff", "HmacSHA256", 1795206769348)) == (
        b'{"key":"AP8=","algorithm":"HmacSHA256","creation-timestamp":1795206769348}'
    )


@pytest.mark.parametrize(
    ("state", "text"),
    [
        (TargetState.STARTED, b'{"state":"STARTED","state.v2":"STARTED"}'),
        (TargetState.PAUSED, b'{"state":"PAUSED","state.v2":"PAUSED"}'),
        (TargetState.STOPPED, b'{"state":"PAUSED","state.v2":"STOPPED"}'),
    ],
)
def test_old_workers_read_stopped_as_paused(state: TargetState, text: bytes) -> None:
    assert records.target_state_value(state) == text


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ('"\\\n\x01\x1f\x7f', '"\\"\\\\\\n\\u0001\\u001F\x7f"'),
        ("\\u001f", '"\\\\u001f"'),
        ("세번째/é\u2028", '"세번째/é\u2028"'),
        ("😀", '"\\uD83D\\uDE00"'),
    ],
)
def test_texts_are_escaped_as_jackson_escapes(text: str, written: str) -> None:
    assert to_json(text) == written.encode()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"NaN", "NaN is not JSON"),
        (b"[-Infinity]", "-Infinity is not JSON"),
        (b"{", "Expecting property name"),
        (b"", "Expecting value"),
        (b"\xff", "invalid start byte"),
    ],
)
def test_what_jackson_refuses_is_refused(text: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        from_json(text)


@pytest.mark.parametrize(
    ("key", "id"),
    [
        ("task-a-0", TaskId("a", 0)),
        ("task-with-dash-es-12", TaskId("with-dash-es", 12)),
        ("task-a--1", TaskId("a-", 1)),
        ("task-a", None),
        ("task-a-", None),
        ("task-a-x", None),
        ("task-a-٣", None),
        ("task-a-2147483648", None),
    ],
)
def test_a_tasks_key_is_split_at_the_last_dash(key: str, id: TaskId | None) -> None:
    assert records.task_of_key(key) == id


def test_a_session_key_does_not_show_itself() -> None:
    assert "secret" not in repr(SessionKey(b"secret", "HmacSHA256", 1))


@given(NAMES, CONFIGS, st.lists(CONFIGS, max_size=4), st.sampled_from(TargetState))
def test_what_is_written_is_read(
    name: str, config: dict[str, str | None], tasks: list[dict[str, str | None]], target: TargetState
) -> None:
    ids = [TaskId(name, number) for number in range(len(tasks))]
    written = [
        (records.target_state_key(name), records.target_state_value(target)),
        (records.connector_key(name), records.properties_value(config)),
        *((records.task_key(id), records.properties_value(task)) for id, task in zip(ids, tasks, strict=True)),
        (records.commit_key(name), records.commit_value(len(tasks))),
    ]
    table = ConfigTable()
    problems = [table.apply(key, value, offset).problem for offset, (key, value) in enumerate(written)]
    state = table.snapshot()
    assert problems == [None] * len(written)
    assert (state.offset, state.connectors()) == (len(written), frozenset({name}))
    assert (state.connector_config(name), state.target_state(name)) == (config, target)
    assert state.all_task_configs(name) == dict(zip(ids, tasks, strict=True))


@given(st.binary(), st.text(st.characters(exclude_categories=["Cs"])), st.integers(0, 2**63 - 1))
def test_session_keys_are_read_as_written(key: bytes, algorithm: str, created: int) -> None:
    table, written = ConfigTable(), SessionKey(key, algorithm, created)
    assert table.apply(records.SESSION_KEY, records.session_key_value(written), 0).problem is None
    assert table.snapshot().session_key == written


@given(NAMES, st.booleans(), st.booleans())
def test_restart_requests_are_read_as_written(name: str, only_failed: bool, include_tasks: bool) -> None:
    applied = ConfigTable().apply(records.restart_key(name), records.restart_value(only_failed, include_tasks), 0)
    assert applied.events == (RestartRequested(name, only_failed, include_tasks),)


@given(st.binary() | st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists).map(json.dumps))
def test_no_record_is_fatal(value: bytes | str) -> None:
    raw = value if isinstance(value, bytes) else value.encode(errors="replace")
    table = ConfigTable()
    keys = ["connector-a", "task-a-0", "commit-a", "target-state-a", "restart-connector-a", "tasks-fencing-a"]
    for offset, key in enumerate([*keys, "session-key", "session-key-", "logger-cluster-a", "unknown", "", None]):
        table.apply(key, raw, offset)
    assert table.snapshot().connectors() == frozenset()


def test_leaders_alone_write_what_decides_on_work() -> None:
    keys = ["connector-a", "task-a-0", "commit-a", "restart-connector-a", "tasks-fencing-a", "session-key"]
    assert all(map(records.is_of_leader, keys))
    assert not any(map(records.is_of_leader, ["target-state-a", "logger-cluster-a", "other"]))
