"""Bytes that nobody should write: at random, and valid ones with changes. They end with the documented errors, soon.

Records of the internal topics come from whoever may write to them; one that raised another error would end the worker
that reads it, and the next one.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connect_dagster.protocol.config_records import task_of_key
from connect_dagster.protocol.config_state import ConfigTable
from connect_dagster.protocol.consumer_structs import ConsumerAssignment, ConsumerSubscription
from connect_dagster.protocol.group_metadata import GroupKey, GroupMetadata, OffsetCommitKey, decode_key
from connect_dagster.protocol.group_structs import Assignment, WorkerMetadata
from connect_dagster.protocol.offset_records import parse_key, parse_value
from connect_dagster.protocol.states import TaskId
from connect_dagster.protocol.status_records import StatusTable
from connect_dagster.protocol.wire import MalformedBytes
from tests.unit.protocol import test_consumer_structs, test_group_metadata, test_group_structs

Decode = Callable[[bytes], Any]

FEW = 100
MANY = 3_000
LARGE = 300_000

KEYS = [GroupKey("connect").encode(), OffsetCommitKey("g", "t", 7).encode()]
STRUCTS: dict[str, tuple[Decode, st.SearchStrategy[bytes]]] = {
    "worker metadata": (WorkerMetadata.decode, test_group_structs.metadata.map(WorkerMetadata.encode)),
    "assignment": (Assignment.decode, test_group_structs.assignments.map(Assignment.encode)),
    "group": (GroupMetadata.decode, test_group_metadata.groups.map(GroupMetadata.encode)),
    "key of the offsets topic": (decode_key, st.sampled_from(KEYS)),
    "subscription": (
        ConsumerSubscription.decode,
        test_consumer_structs.subscriptions.map(ConsumerSubscription.encode),
    ),
    "consumer assignment": (
        ConsumerAssignment.decode,
        test_consumer_structs.assignments.map(ConsumerAssignment.encode),
    ),
}
EXTREMES = [bytes(4), b"\x7f\xff\xff\xff", b"\x80\x00\x00\x00", b"\xff" * 4, b"\x7f\xff", b"\xff\xff\xff\xff\x0f"]

CONFIG_KEYS = ["connector-", "task-", "commit-", "target-state-", "restart-connector-", "tasks-fencing-", "session-key"]
STATUS_KEYS = ["status-connector-", "status-task-", "status-topic-", "status-topic-t:connector-"]
FIELDS = ["properties", "tasks", "state", "state.v2", "only-failed", "include-tasks", "task-count", "key", "algorithm"]
FIELDS += ["creation-timestamp", "level", "trace", "worker_id", "generation", "version", "topic", "name", "connector"]
FIELDS += ["task", "discoverTimestamp"]
WORDS = ["STARTED", "STOPPED", "RUNNING", "DESTROYED", "HmacSHA256", "INFO", "AAAA", "é", "\ud800"]
scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(WORDS)
numbers = st.integers(-(10**20), 10**20) | st.integers(0, 3)


def _documents(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(values, max_size=3) | st.dictionaries(st.sampled_from(FIELDS) | st.text(max_size=3), values)


documents = st.recursive(scalars | numbers, _documents, max_leaves=12).map(lambda value: json.dumps(value).encode())
names = st.text(max_size=4) | st.sampled_from(["a", "a-0", "-1", "a-" + "1" * 5000, "a-٣", ":connector-", "logger-"])


@st.composite
def changed(draw: st.DrawFn, valid: st.SearchStrategy[bytes]) -> bytes:
    """Valid bytes with a part replaced, at a place where a length may be."""
    data = draw(valid)
    at = draw(st.integers(0, len(data)))
    length = draw(st.integers(0, min(8, len(data) - at)))
    return data[:at] + draw(st.binary(max_size=6) | st.sampled_from(EXTREMES)) + data[at + length :]


def refused_or_read(decode: Decode, data: bytes) -> None:
    with suppress(MalformedBytes):
        decode(data)


def apply_all(records: list[tuple[str, bytes | None]]) -> None:
    """Apply records to both tables, and read what they make of them."""
    config, status = ConfigTable(), StatusTable()
    for offset, (key, value) in enumerate(records):
        config.apply(key, value, offset)
        status.apply(key, value)
    state = config.snapshot()
    for name in state.connectors():
        state.connector_config(name)
        state.target_state(name)
        state.task_config(TaskId(name, 0))


def records_of(keys: list[str], values: st.SearchStrategy[bytes]) -> st.SearchStrategy[list[tuple[str, bytes | None]]]:
    one = st.tuples(st.builds(str.__add__, st.sampled_from(keys), names) | names, st.none() | values)
    return st.lists(one, max_size=6)


records = records_of([*CONFIG_KEYS, *STATUS_KEYS, "logger-cluster-"], documents | changed(documents) | st.binary())


@pytest.mark.parametrize("name", STRUCTS)
@settings(max_examples=FEW)
@given(data=st.data())
def test_structs_are_malformed_or_read(name: str, data: st.DataObject) -> None:
    decode, valid = STRUCTS[name]
    refused_or_read(decode, data.draw(st.binary(max_size=80) | changed(valid) | changed(changed(valid))))


@pytest.mark.nightly
@pytest.mark.parametrize("name", STRUCTS)
@settings(max_examples=MANY, deadline=None)
@given(data=st.data())
def test_very_many_structs_are_malformed_or_read(name: str, data: st.DataObject) -> None:
    decode, valid = STRUCTS[name]
    refused_or_read(decode, data.draw(st.binary(max_size=80) | changed(valid) | changed(changed(valid))))


@settings(max_examples=FEW)
@given(records)
def test_records_are_left_out_or_applied(records: list[tuple[str, bytes | None]]) -> None:
    apply_all(records)


@pytest.mark.nightly
@settings(max_examples=MANY, deadline=None)
@given(records)
def test_very_many_records_are_left_out_or_applied(records: list[tuple[str, bytes | None]]) -> None:
    apply_all(records)


@settings(max_examples=FEW)
@given(documents | changed(documents) | st.binary())
def test_offsets_are_other_keys_or_refused(data: bytes) -> None:
    parse_key(data)
    with suppress(ValueError):
        parse_value(data)


@pytest.mark.parametrize("depth", [100, 501, *range(940, 1000, 10), 100_000])
def test_nesting_does_not_end_the_reader(depth: int) -> None:
    """Failed: a RecursionError, which is not a ValueError, came out of the tables, at the latest for their message."""
    nested = b"[" * depth + b"]" * depth
    properties = b'{"properties":' + b'{"a":' * depth + b"1" + b"}" * depth + b"}"
    keys = [*(f"{key}a-0" for key in (*CONFIG_KEYS, *STATUS_KEYS)), "session-key", "status-topic-t:connector-a"]
    apply_all([(key, value) for value in (nested, properties) for key in keys])
    assert parse_key(nested) is None
    with pytest.raises(ValueError, match="Offset"):
        parse_value(nested)


@pytest.mark.parametrize("key", ["é", "\ud800", "A", "A===", " "])
def test_a_session_key_that_is_not_base64_is_left_out(key: str) -> None:
    """Failed: a letter beyond ASCII is another error than base64's, which was not expected."""
    value = json.dumps({"key": key, "algorithm": "HmacSHA256", "creation-timestamp": 1}).encode()
    applied = ConfigTable().apply("session-key", value, 0)
    assert applied.problem is not None
    assert "'key' is not base64" in applied.problem


@pytest.mark.parametrize(
    ("number", "task"),
    [("0000000000000007", 7), ("2147483647", 2**31 - 1), ("2147483648", None), ("1" * 5000, None), ("0" * 5000, 0)],
)
def test_the_number_of_a_task_may_be_long(number: str, task: int | None) -> None:
    """Failed: Python refuses to read numbers of more than 4,300 digits, and the reader of the config topic ended."""
    assert task_of_key(f"task-a-{number}") == (None if task is None else TaskId("a", task))
    ConfigTable().apply(f"task-a-{number}", b'{"properties":{}}', 0)


@pytest.mark.parametrize("name", STRUCTS)
def test_large_bytes_take_no_long_time(name: str) -> None:
    """With the square of the size it would be hours."""
    decode, _ = STRUCTS[name]
    began = time.process_time()
    for unit in (b"\x00", b"\x01", b"\x00\x00\x00\x01", b"\x00\x02", b"\x00\x00\x00"):
        refused_or_read(decode, b"\x00\x01" + unit * (LARGE // len(unit)))
    assert time.process_time() - began < 20
