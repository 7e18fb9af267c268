"""Data beside Java's: topics that both write from one file, files that both write from one topic, and their offsets."""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from confluent_kafka import Consumer, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.conformance.java_connect import JavaStandalone
from tests.conftest import Broker
from tests.integration.worker_process import JSON_CONVERTER, WorkerProcess
from tests.rest_calls import Answer, call

STRING_CONVERTER = "org.apache.kafka.connect.storage.StringConverter"
SECONDS = 120.0
POLL_SECONDS = 0.1

pytestmark = pytest.mark.nightly


@dataclass(frozen=True, slots=True)
class Side:
    """One worker under test."""

    name: str
    url: str

    def call(self, method: str, target: str, body: Any = None) -> Answer:
        return call(self.url, method, target, body)

    def create(self, name: str, config: dict[str, str]) -> None:
        answer = self.call("PUT", f"/connectors/{name}/config", config)
        assert answer.status == 201, answer.body

    def offsets(self, name: str) -> list[dict[str, Any]]:
        """Offsets in the order of their partitions."""
        found = self.call("GET", f"/connectors/{name}/offsets").json["offsets"]
        return sorted(found, key=lambda one: json.dumps(one["partition"], sort_keys=True))


@pytest.fixture(scope="module")
def sides(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Side, Side]]:
    workdir = tmp_path_factory.mktemp("data")
    props = {
        "bootstrap.servers": broker.bootstrap_servers,
        "key.converter": JSON_CONVERTER,
        "value.converter": JSON_CONVERTER,
        "offset.flush.interval.ms": "500",
    }
    with (
        WorkerProcess(props, [], workdir / "ours") as ours,
        JavaStandalone(props, [], workdir / "java", heap="512m") as java,
    ):
        yield Side("java", java.rest_url.rstrip("/")), Side("ours", ours.rest_url)


def until(condition: Callable[[], bool], aim: str) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"not within {SECONDS:g} s: {aim}"
        time.sleep(POLL_SECONDS)


def records(broker: Broker, topic: str, count: int) -> list[Message]:
    """The first records of a topic with one partition."""
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": topic})
    consumer.assign([TopicPartition(topic, 0, 0)])
    found: list[Message] = []
    deadline = time.monotonic() + SECONDS
    try:
        while len(found) < count:
            assert time.monotonic() < deadline, f"{len(found)} records of {count} within {SECONDS:g} s"
            found += consumer.consume(count - len(found), 1)
        return found
    finally:
        consumer.close()


def content(message: Message) -> tuple[Any, ...]:
    assert message.error() is None
    return message.key(), message.value(), message.headers()


LINES = [
    "first message",
    "",
    " blanks around ",
    "세번째 메시지",
    "quotes \" and \\ and / and '",
    "tab\tand bell\x07 and null\x00 and escape\x1b and delete\x7f and nel\x85",
    "line separators \u2028 \u2029 and bom \ufeff",
    "emoji 😀 and 한글 and é and e\u0301",
    "<html> & ${config} %s {json: [1]}",
    '{"schema":{"type":"string"},"payload":"not an envelope"}',
    "x" * 10_000,
]


@pytest.mark.parametrize("converter", [JSON_CONVERTER, STRING_CONVERTER])
@pytest.mark.parametrize("schemas", ["true", "false"])
def test_both_write_the_same_records_from_a_file(
    sides: tuple[Side, Side], broker: Broker, tmp_path: Path, converter: str, schemas: str
) -> None:
    file, run = tmp_path / "in.txt", uuid4().hex[:8]
    file.write_bytes("".join(f"{line}\n" for line in LINES).encode() + b"windows\r\nold mac\rlast\n")
    written = {}
    for side in sides:
        topic = f"data-{run}-{side.name}"
        config = {
            "connector.class": "FileStreamSource",
            "file": str(file),
            "topic": topic,
            "value.converter": converter,
            "value.converter.schemas.enable": schemas,
        }
        side.create(topic, config)
        written[side.name] = [content(one) for one in records(broker, topic, len(LINES) + 3)]
        assert side.call("DELETE", f"/connectors/{topic}").status == 204
    for number, (java, ours) in enumerate(zip(written["java"], written["ours"], strict=True)):
        assert ours == java, f"record {number}"


def envelope(schema: dict[str, Any], payload: Any) -> bytes:
    return json.dumps({"schema": schema, "payload": payload}, ensure_ascii=False).encode()


def of(kind: str, payload: Any, **more: Any) -> bytes:
    return envelope({"type": kind, "optional": False, **more}, payload)


def field(name: str, kind: str, **more: Any) -> dict[str, Any]:
    return {"field": name, "type": kind, "optional": True, **more}


STRUCT = [
    field("name", "string"),
    field("count", "int32"),
    field("share", "double"),
    field("good", "boolean"),
    field("inner", "struct", fields=[field("x", "int64"), field("y", "string")]),
    field("list", "array", items={"type": "string", "optional": True}),
]
FULL = {
    "name": "한글 😀",
    "count": -5,
    "share": 0.1,
    "good": True,
    "inner": {"x": 9007199254740993, "y": None},
    "list": ["a", None, "b c"],
}
MAP = {"keys": {"type": "string", "optional": False}, "values": {"type": "int32", "optional": True}}
# The record of mysql-customers in seed 001.
WHEN = {"name": "org.apache.kafka.connect.data.Timestamp", "version": 1}
CUSTOMER_FIELDS = [
    {"field": "id", "type": "int32", "optional": False},
    field("name", "string"),
    field("email", "string"),
    {"field": "created", "type": "int64", "optional": False, **WHEN},
    {"field": "modified", "type": "int64", "optional": False, **WHEN},
]
CUSTOMER = {
    "id": 1,
    "name": "jyp",
    "email": "ypjeong@kafka.com",
    "created": 1642725853000,
    "modified": 1642725853000,
}
CUSTOMER_LINE = (
    "Struct{id=1,name=jyp,email=ypjeong@kafka.com,"
    "created=Fri Jan 21 00:44:13 UTC 2022,modified=Fri Jan 21 00:44:13 UTC 2022}"
)
# By name: the converter's options, and the values of a topic. What has one type is together, as in real topics.
TOPICS: dict[str, tuple[dict[str, str], Sequence[bytes | None]]] = {
    "strings with schema": ({}, [of("string", line) for line in LINES]),
    "integers": ({}, [of(kind, number) for kind in ("int8", "int16", "int32", "int64") for number in (0, -1, 127)]),
    "doubles": ({}, [of("double", one) for one in (0.0, 1.0, -1.5, 1e7, 1.0e-3, 1e-5, 123456789.125, 1e22, 0.1)]),
    "floats": ({}, [of("float", one) for one in (0.0, 1.0, 0.1, 3.4e38, 1.17e-38, 16777216.0, 1e7)]),
    "booleans": ({}, [of("boolean", True), of("boolean", False)]),
    "nulls": ({}, [envelope({"type": "string", "optional": True}, None), of("string", "after"), None]),
    "structs": (
        {},
        [
            of("struct", FULL, fields=STRUCT),
            of("struct", dict.fromkeys(FULL), fields=STRUCT),
            of("struct", {**FULL, "list": []}, fields=STRUCT),
        ],
    ),
    "customers": ({}, [of("struct", CUSTOMER, fields=CUSTOMER_FIELDS, name="customers")]),  # with dates
    "arrays": ({}, [of("array", [1, 2, None], items={"type": "int32", "optional": True})]),
    "maps": ({}, [of("map", {"one": 1, "two": None, "a": 3, "한글": 4}, **MAP)]),
    "several types": ({}, [of("string", "a"), of("int32", 1), of("string", "b"), of("boolean", True)]),
    "plain strings": ({"value.converter": STRING_CONVERTER}, [line.encode() for line in LINES]),
    "invalid utf-8": ({"value.converter": STRING_CONVERTER}, [b"a\xff\xfeb", b"\xf0\x9f\x98"]),
    "encoded surrogates": ({"value.converter": STRING_CONVERTER}, [b"\xed\xa0\x80"]),
    "maps of one": ({}, [of("map", {"one": 1}, **MAP), of("map", {"한글": None}, **MAP), of("map", {}, **MAP)]),
    "json strings without schema": (
        {"value.converter": JSON_CONVERTER, "value.converter.schemas.enable": "false"},
        [json.dumps(line, ensure_ascii=False).encode() for line in LINES],
    ),
    "json without schema": (
        {"value.converter": JSON_CONVERTER, "value.converter.schemas.enable": "false"},
        [b"1", b"1.5", b"true", b"null", b'["a", 1, null]', b"-7"],
    ),
    "json objects without schema": (
        {"value.converter": JSON_CONVERTER, "value.converter.schemas.enable": "false"},
        [b'{"a": 1}', b'{"a": {"b": [1.0, "x"]}}'],
    ),
}
# Topics whose files differ, with our lines and the reason.
DIFFERENT: dict[str, tuple[list[str], str]] = {
    "encoded surrogates": (["\ufffd" * 3], "Spark replaces each byte of a surrogate, Java all three at once"),
    "maps": (["{one=1, two=null, a=3, 한글=4}"], "ours keep the order of the record, Java's hash map has its own"),
    "json objects without schema": (['{"a":1}', '{"a":{"b":[1,"x"]}}'], "ours stay JSON; Java prints its own maps"),
}


@pytest.mark.parametrize("name", TOPICS)
def test_both_write_the_same_file_from_a_topic(
    sides: tuple[Side, Side], broker: Broker, tmp_path: Path, name: str
) -> None:
    written = sunk(sides, broker, tmp_path, name)
    if name in DIFFERENT:
        assert written["ours"] != written["java"], "no difference any more"
        assert written["ours"].decode().splitlines() == DIFFERENT[name][0]
    else:
        assert written["ours"] == written["java"]


def test_s4_07_a_struct_is_a_line_of_javas_text(sides: tuple[Side, Side], broker: Broker, tmp_path: Path) -> None:
    written = sunk(sides, broker, tmp_path, "customers")
    assert written == dict.fromkeys(("java", "ours"), f"{CUSTOMER_LINE}\n".encode())


def sunk(sides: tuple[Side, Side], broker: Broker, tmp_path: Path, name: str) -> dict[str, bytes]:
    """What each side writes to a file of one of the topics."""
    options, values = TOPICS[name]
    topic = f"sunk-{uuid4().hex[:8]}"
    produce(broker, topic, values)
    written = {}
    for side in sides:
        file, connector = tmp_path / side.name, f"{topic}-{side.name}"
        side.create(connector, {"connector.class": "FileStreamSink", "file": str(file), "topics": topic, **options})
        done = [{"partition": {"kafka_topic": topic, "kafka_partition": 0}, "offset": {"kafka_offset": len(values)}}]
        until(lambda side=side, done=done, connector=connector: side.offsets(connector) == done, f"{side.name} to end")  # type: ignore[misc]
        written[side.name] = file.read_bytes()
        assert side.call("DELETE", f"/connectors/{connector}").status == 204
    return written


def produce(broker: Broker, topic: str, values: Sequence[bytes | None], partitions: int = 1) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result(30)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for number, value in enumerate(values):
        producer.produce(topic, value, partition=number % partitions)
    assert producer.flush(60) == 0


def altered(*pairs: tuple[Any, Any]) -> dict[str, Any]:
    return {"offsets": [{"partition": partition, "offset": offset} for partition, offset in pairs]}


def test_offsets_of_a_source_are_edited_alike(sides: tuple[Side, Side], tmp_path: Path) -> None:
    played = {side.name: _edit_source_offsets(side, tmp_path / "in.txt") for side in sides}
    assert played["ours"] == played["java"]


def _edit_source_offsets(side: Side, file: Path) -> list[Any]:
    file.write_text("one\ntwo\nthree\n")
    name, place = f"source-{side.name}-{uuid4().hex[:8]}", {"filename": str(file)}
    side.create(name, {"connector.class": "FileStreamSource", "file": str(file), "topic": name})
    seen: list[Any] = []

    def step(method: str, below: str, body: Any = None) -> None:
        answer = side.call(method, f"/connectors/{name}{below}", body)
        text = answer.body.decode().replace(name, "{name}")
        seen.append((method, below, answer.status, text, side.offsets(name) if below else None))

    until(lambda: side.offsets(name) == [{"partition": place, "offset": {"position": 14}}], "commit the end")
    step("PATCH", "/offsets", altered((place, {"position": 4})))
    step("DELETE", "/offsets")
    step("PUT", "/stop")
    step("PATCH", "/offsets", altered((place, {"position": 4}), ({"filename": "/other"}, {"position": 7})))
    step("PATCH", "/offsets", altered(({"filename": "/other"}, None)))
    step("PATCH", "/offsets", altered(({"filename": "/unknown"}, None)))
    step("PATCH", "/offsets", altered((place, {"position": "4"})))
    step("PATCH", "/offsets", altered((place, {"position": -1})))
    step("PATCH", "/offsets", altered((place, {"position": None})))
    step("PATCH", "/offsets", altered((None, {"position": 4})))
    step("PATCH", "/offsets", altered(({}, {"position": 4})))
    step("PATCH", "/offsets", altered((place, {})))
    step("PATCH", "/offsets", altered((place, {"position": 4}), (place, {"position": 8})))
    step("PATCH", "/offsets", altered())
    step("PUT", "/resume")
    until(lambda: side.offsets(name) == [{"partition": place, "offset": {"position": 14}}], "commit the end again")
    step("PUT", "/stop")
    step("DELETE", "/offsets")
    step("DELETE", "/offsets")
    step("DELETE", "")
    return seen


def test_offsets_of_a_sink_are_edited_alike(sides: tuple[Side, Side], broker: Broker, tmp_path: Path) -> None:
    played = {side.name: _edit_sink_offsets(side, broker, tmp_path / side.name) for side in sides}
    assert played["ours"] == played["java"]


def _edit_sink_offsets(side: Side, broker: Broker, file: Path) -> list[Any]:
    name = f"sink-{side.name}-{uuid4().hex[:8]}"
    produce(broker, name, [of("string", str(number)) for number in range(10)], partitions=2)
    side.create(name, {"connector.class": "FileStreamSink", "file": str(file), "topics": name})
    seen: list[Any] = []

    def place(partition: Any = 0, topic: str = name) -> dict[str, Any]:
        return {"kafka_topic": topic, "kafka_partition": partition}

    def offsets() -> list[Any]:
        return [(one["partition"]["kafka_partition"], one["offset"]["kafka_offset"]) for one in side.offsets(name)]

    def step(method: str, below: str, body: Any = None) -> None:
        answer = side.call(method, f"/connectors/{name}{below}", body)
        seen.append(
            (method, below, answer.status, answer.body.decode().replace(name, "{name}"), offsets() if below else None)
        )

    until(lambda: offsets() == [(0, 5), (1, 5)], "commit the ends")
    step("PATCH", "/offsets", altered((place(), {"kafka_offset": 1})))
    step("PUT", "/stop")
    until(lambda: side.call("GET", f"/connectors/{name}/status").json["tasks"] == [], "stop the task")
    step("PATCH", "/offsets", altered((place(), {"kafka_offset": 1})))
    step("PATCH", "/offsets", altered((place(1), None)))
    step("PATCH", "/offsets", altered((place("0"), {"kafka_offset": "3"}), (place(1), {"kafka_offset": 2})))
    step("PATCH", "/offsets", altered((place(), {"kafka_offset": 4}), (place(1), None)))
    step("PATCH", "/offsets", altered((place(1.5), {"kafka_offset": 4})))
    step("PATCH", "/offsets", altered((place(), {"kafka_offset": 4.5})))
    step("PATCH", "/offsets", altered((place(None), {"kafka_offset": 4})))
    step("PATCH", "/offsets", altered((place(), {"kafka_offset": None})))
    step("PATCH", "/offsets", altered((place(), {})))
    step("PATCH", "/offsets", altered((None, {"kafka_offset": 4})))
    step("PATCH", "/offsets", altered(({}, {"kafka_offset": 4})))
    step("PATCH", "/offsets", altered())
    step("PUT", "/resume")
    until(lambda: offsets() == [(0, 5), (1, 5)], "commit the ends again")
    seen.append(sorted(file.read_text().split()))
    step("PUT", "/stop")
    until(lambda: side.call("GET", f"/connectors/{name}/status").json["tasks"] == [], "stop the task")
    step("DELETE", "/offsets")
    step("DELETE", "/offsets")
    step("DELETE", "")
    return seen
