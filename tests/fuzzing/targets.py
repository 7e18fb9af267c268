"""Parsers of what others write, each with the errors that it documents and with valid inputs to begin with.

A target that raises another error has found something, and so has one that takes longer than its input allows. Used by
`python -m tests.fuzzing`, which changes the inputs by the branches that they reach.
"""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from connect_dagster.client.jdbc_url import jdbc_database
from connect_dagster.converters.json.converter import JsonConverter
from connect_dagster.errors import ConfigError, DataError
from connect_dagster.isolation.config_transformer import ConfigTransformer, placeholders
from connect_dagster.java.properties import parse_properties, property_lines
from connect_dagster.protocol.config_state import ConfigTable
from connect_dagster.protocol.consumer_structs import ConsumerAssignment, ConsumerSubscription, TopicPartitions
from connect_dagster.protocol.group_metadata import GroupKey, GroupMember, GroupMetadata, OffsetCommitKey, decode_key
from connect_dagster.protocol.group_structs import Assignment, ConnectorTasks, WorkerMetadata
from connect_dagster.protocol.offset_records import parse_key, parse_value
from connect_dagster.protocol.states import TaskId
from connect_dagster.protocol.status_records import StatusTable
from connect_dagster.protocol.wire import MalformedBytes
from connect_dagster.rest.documents import (
    UnreadableRequest,
    read_config,
    read_create_request,
    read_offsets,
    read_task_configs,
)

LARGE = 65_536
# Of processor time, with the counting of branches; one byte costs less than a microsecond without it.
SECONDS = 0.1
SECONDS_PER_BYTE = 50e-6
_ATTEMPTS = 3
_EVERY = 20
# As Java's expression: `ConfigTransformer.DEFAULT_PATTERN`.
_JAVAS_PLACEHOLDER = re.compile(r"\$\{([^}]*?):(([^}]*?):)?([^}]*?)\}")
_COMPARED = 200


@dataclass(frozen=True, slots=True)
class Target:
    """A parser under test.

    Attributes:
        parse: takes any bytes.
        expected: the errors that it documents.
        seeds: valid inputs.
    """

    parse: Callable[[bytes], object]
    expected: tuple[type[Exception], ...]
    seeds: Sequence[bytes]

    def run(self, data: bytes) -> None:
        """Parse once; raises what is not documented."""
        try:
            self.parse(data)
        except self.expected:
            return


class TooSlow(Exception):
    """A parser took longer than its input allows."""


class Bounded:
    """Runs a target on inputs, within the time that their size allows.

    Each twentieth runs again with a part of it repeated to 64 kB.
    """

    def __init__(self, target: Target) -> None:
        self._target = target
        self._count = 0
        self._chance = random.Random(1)

    def __call__(self, data: bytes) -> None:
        self._run(data)
        self._count += 1
        if data and self._count % _EVERY == 0:
            self._run(self._inflated(data))

    def _inflated(self, data: bytes) -> bytes:
        begin = self._chance.randrange(len(data))
        end = begin + self._chance.choice((1, 1, 2, 3, 8, len(data)))
        part = data[begin:end]
        return data[:begin] + part * (LARGE // len(part)) + data[end:]

    def _run(self, data: bytes) -> None:
        allowed = SECONDS + SECONDS_PER_BYTE * len(data)
        taken = [self._seconds(data)]
        while min(taken) > allowed and len(taken) < _ATTEMPTS:
            taken.append(self._seconds(data))
        if min(taken) > allowed:
            raise TooSlow(f"{len(data)} bytes took {min(taken):.3f} s, not {allowed:.3f} s: {data[:200]!r}")

    def _seconds(self, data: bytes) -> float:
        began = time.process_time()
        self._target.run(data)
        return time.process_time() - began


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _records(apply: Callable[[str, bytes | None, int], object]) -> Callable[[bytes], None]:
    """Read lines as keys and values in turn; a value `-` is a tombstone."""

    def parse(data: bytes) -> None:
        lines = data.split(b"\n")
        for offset, (key, value) in enumerate(zip(lines[::2], lines[1::2], strict=False)):
            apply(_text(key), None if value == b"-" else value, offset)

    return parse


def _configs(data: bytes) -> None:
    table = ConfigTable()
    _records(table.apply)(data)
    state = table.snapshot()
    for name in state.connectors():
        state.connector_config(name)
        state.target_state(name)
        state.task_config(TaskId(name, 0))
        state.all_task_configs(name)


def _statuses(data: bytes) -> None:
    table = StatusTable()
    _records(lambda key, value, offset: table.apply(key, value))(data)


def _offsets(data: bytes) -> None:
    key, _, value = data.partition(b"\n")
    parse_key(key)
    parse_value(value)


def _placeholders(data: bytes) -> None:
    text = _text(data)
    found = list(placeholders(text))
    assert all(text.startswith(one.text, one.start) for one in found)
    if len(text) <= _COMPARED:
        theirs = [(match[0], match[1], match[3] or "", match[4]) for match in _JAVAS_PLACEHOLDER.finditer(text)]
        assert [(one.text, one.provider, one.path, one.key) for one in found] == theirs
    assert ConfigTransformer({}).resolve({"key": text}).config == {"key": text}


def _properties(data: bytes) -> None:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("iso-8859-1")
    found = parse_properties(text, "file")
    assert parse_properties(property_lines(found), "file") == found


def _jdbc_url(data: bytes) -> None:
    if (database := jdbc_database(_text(data))) is not None:
        database.table_path("a.b")


def _converter() -> Callable[[bytes], object]:
    converter = JsonConverter()
    converter.configure({"schemas.enable": "true"}, is_key=False)
    return converter.to_value


def _lines(*records: tuple[str, object]) -> bytes:
    return "\n".join(f"{key}\n{json.dumps(value)}" for key, value in records).encode()


_ASSIGNMENT = Assignment(
    2, 0, "m-1", "http://w:1/", 7, (ConnectorTasks("a", (-1, 0, 1)),), (ConnectorTasks("b", (-1,)),), 5
)
_MEMBER = GroupMember("m-1", "c", "/127.0.0.1", 10_000, b"subscription", b"assignment", 60_000, "i")
_GROUP = GroupMetadata(3, "connect", 5, "sessioned", "m-1", (_MEMBER, _MEMBER), 1_000)
_CONFIG_RECORDS = _lines(
    ("session-key", {"key": "AAAA", "algorithm": "HmacSHA256", "creation-timestamp": 1}),
    ("target-state-a", {"state": "PAUSED", "state.v2": "STOPPED"}),
    ("connector-a", {"properties": {"name": "a", "topic": None}}),
    ("task-a-0", {"properties": {"task": "0"}}),
    ("commit-a", {"tasks": 1}),
    ("restart-connector-a", {"include-tasks": True, "only-failed": False}),
    ("tasks-fencing-a", {"tasks": 1}),
    ("logger-cluster-x.y", {"level": "INFO"}),
)
_STATUS_RECORDS = _lines(
    ("status-connector-a", {"state": "RUNNING", "worker_id": "w:1", "generation": 3, "trace": "t", "version": "1"}),
    ("status-task-a-0", {"state": "FAILED", "worker_id": "w:1", "generation": 3}),
    ("status-topic-t:connector-a", {"topic": {"name": "t", "connector": "a", "task": 0, "discoverTimestamp": 1}}),
)
_ENVELOPES = (
    b'{"schema":{"type":"struct","fields":[{"type":"int8","optional":false,"field":"a"},{"type":"string","optional":true,'
    b'"default":"x","field":"b"}],"optional":false,"name":"n","version":2,"doc":"d","parameters":{"p":"1"}},'
    b'"payload":{"a":1,"b":null}}',
    b'{"schema":{"type":"map","keys":{"type":"int32"},"values":{"type":"array","items":{"type":"bytes"}}},'
    b'"payload":[[1,["AA=="]]]}',
    b'{"schema":{"type":"bytes","name":"org.apache.kafka.connect.data.Decimal","version":1,"parameters":{"scale":"2"}},'
    b'"payload":"hQ=="}',
    b'{"schema":{"type":"int64","name":"org.apache.kafka.connect.data.Timestamp","version":1},"payload":1500}',
    b'{"schema":{"type":"int32","name":"org.apache.kafka.connect.data.Date"},"payload":-1}',
    b'{"schema":{"type":"int32","name":"org.apache.kafka.connect.data.Time"},"payload":86399999}',
    b'{"schema":{"type":"double","default":1e300},"payload":null}',
    b'{"schema":null,"payload":{"a":[true,1.5,"\\ud83d\\ude00"]}}',
)
_URLS = (
    b"jdbc:postgresql://user:pw@h1:5432,h2/db?currentSchema=s&ssl=true",
    b"jdbc:sqlserver://h:1433;databaseName=db;encrypt=false",
    b"jdbc:jtds:sqlserver://h/db;x=y",
    b"jdbc:oracle:thin:@//h:1521/service",
    b"jdbc:oracle:thin:@h:1521:sid",
    b"jdbc:sqlite:/folder/file.db?mode=ro",
    b"jdbc:sqlite:a?\nb",
    b"jdbc:mysql://h:3306/db?user=u",
)

TARGETS: dict[str, Target] = {
    "worker-metadata": Target(
        WorkerMetadata.decode, (MalformedBytes,), [WorkerMetadata(2, "http://w:1/", 7, _ASSIGNMENT).encode()]
    ),
    "assignment": Target(Assignment.decode, (MalformedBytes,), [_ASSIGNMENT.encode()]),
    "group-metadata": Target(GroupMetadata.decode, (MalformedBytes,), [_GROUP.encode()]),
    "offsets-topic-key": Target(
        decode_key, (MalformedBytes,), [GroupKey("connect").encode(), OffsetCommitKey("g", "t", 7).encode()]
    ),
    "subscription": Target(
        ConsumerSubscription.decode,
        (MalformedBytes,),
        [ConsumerSubscription(3, ("t", "u"), b"x", (TopicPartitions("t", (0, 1)),), 4, "r").encode()],
    ),
    "consumer-assignment": Target(
        ConsumerAssignment.decode,
        (MalformedBytes,),
        [ConsumerAssignment(1, (TopicPartitions("t", (0, 1)),), None).encode()],
    ),
    "config-records": Target(_configs, (), [_CONFIG_RECORDS]),
    "status-records": Target(_statuses, (), [_STATUS_RECORDS]),
    "offset-records": Target(_offsets, (ValueError,), [b'["a",{"filename":"f"}]\n{"position":1}']),
    "placeholders": Target(_placeholders, (), [b"a ${file:/p:k} ${env:K}${a:b:c:d}", b"${:}${::}${a}$}"]),
    "rest-config": Target(read_config, (UnreadableRequest,), [b'{"a":"b","c":1.50,"d":true,"e":null}']),
    "rest-connector": Target(
        read_create_request, (UnreadableRequest,), [b'{"name":"a","config":{"a":"b"},"initial_state":"PAUSED"}']
    ),
    "rest-tasks": Target(read_task_configs, (UnreadableRequest,), [b'[{"a":"b"},{"c":null}]']),
    "rest-offsets": Target(
        read_offsets, (UnreadableRequest,), [b'{"offsets":[{"partition":{"f":1},"offset":{"position":2}}]}']
    ),
    "json-envelope": Target(_converter(), (DataError,), _ENVELOPES),
    "properties": Target(_properties, (ConfigError,), [b"a=b\n# c\nd : \\u00e9\\\n  e\\tf\r\n!x\nk\\ k=\\=\n"]),
    "jdbc-url": Target(_jdbc_url, (), _URLS),
}
