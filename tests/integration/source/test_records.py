"""Records that a task gives one by one, transforms of a user's own, and records that Kafka refuses."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
import requests
from confluent_kafka import TIMESTAMP_CREATE_TIME

from tests.integration import topics
from tests.integration.source.conftest import SourceWorker
from tests.integration.topics import read_topic

STRING = {"key.converter": "org.apache.kafka.connect.storage.StringConverter"}
PLAIN = {"value_converter": "org.apache.kafka.connect.storage.StringConverter"}


WITHOUT_SECRET = {
    "transforms": "drop",
    "transforms.drop.type": "edits.Without",
    "transforms.drop.text": "secret",
}


BATCH_SIZE = "kafka_connect_connector_task_batch_size_avg"


def metrics_of(worker: SourceWorker) -> list[str]:
    return requests.get(f"{worker.process.rest_url}/metrics", timeout=10).text.splitlines()


def envelope(text: str) -> str:
    return '{"schema":{"type":"string","optional":false},"payload":"' + text + '"}'


def test_records_keep_all_they_have(worker: SourceWorker, topic_prefix: str) -> None:
    topic, bootstrap = f"{topic_prefix}t", worker.broker.bootstrap_servers
    topics.create(bootstrap, topic, partitions=3)
    own = {"key.converter": "org.apache.kafka.connect.json.JsonConverter"}
    worker.create(topic, {"connector.class": "Letters", "topic": topic, **own})
    records = read_topic(bootstrap, topic, 4)
    by_value = {one.value() and json.loads(one.value() or b"")["payload"].__str__(): one for one in records}

    plain = by_value["plain text"]
    assert plain.value() == b'{"schema":null,"payload":"plain text"}'
    assert plain.key() is None

    free = by_value["{'free': [1, None, '세']}"]
    assert free.value() == '{"schema":null,"payload":{"free":[1,null,"세"]}}'.encode()
    assert free.key() == b'{"schema":null,"payload":"k"}'
    assert free.partition() == 2
    assert free.timestamp() == (TIMESTAMP_CREATE_TIME, 1_700_000_000_123)

    (typed,) = [one for one in records if one.headers()]
    assert typed.key() == b'{"schema":{"type":"int32","optional":false},"payload":5}'
    assert typed.headers() == [("h", base64.b64encode(b"\x00\xff")), ("h", None)]  # as Java's SimpleHeaderConverter
    payload = json.loads(typed.value() or b"")["payload"]
    price = base64.b64encode((150).to_bytes(2)).decode()
    assert payload == {
        "id": 1,
        "name": None,
        "kind": "letter",
        "price": price,
        "at": 1_795_136_523_456,
        "tags": {"x": 7},
    }

    (gone,) = [one for one in records if one.value() is None]
    assert gone.key() == b'{"schema":null,"payload":"gone"}'

    def offsets() -> list[tuple[object, object]]:
        return [(one["partition"], one["offset"]) for one in worker.offsets(topic)]

    wanted = [({"box": "a"}, {"n": 2}), ({"box": "b"}, {"n": 2})]
    worker.process.wait_until(lambda: sorted(offsets(), key=str) == wanted, "commit both places", 30)


@pytest.mark.parametrize("transformed", [False, True])
def test_a_connector_and_its_task_learn_what_became_of_records(
    worker: SourceWorker, topic_prefix: str, tmp_path: Path, transformed: bool
) -> None:
    name, journal, secret = f"{topic_prefix}t", tmp_path / "journal", tmp_path / "password"
    topics.create(worker.broker.bootstrap_servers, name, partitions=2)
    secret.write_text("first")
    config = {
        "connector.class": "Acknowledging",
        "topic": name,
        "journal": str(journal),
        "password": f"${{secrets:{tmp_path}:password}}",
        "config.action.reload": "none",
        **(WITHOUT_SECRET if transformed else {}),
    }
    worker.create(name, config)

    def noted(kind: str) -> list[Any]:
        entries = [json.loads(line) for line in journal.read_text().splitlines()]
        return [said for entry, said in entries if entry == kind]

    worker.process.wait_until(lambda: len(noted("record")) == 4, "acknowledge four records", 30)
    assert noted("record") == [
        ["a", {"n": 0}, [name, 0, 0, 1_700_000_000_000]],
        ["secret", {"n": 1}, None if transformed else [name, 1, 0, None]],
        ["b", {"n": 2}, [name, 0, 1, None]],
        ["c", {"n": 3}, [name, 1, 0 if transformed else 1, 5]],
    ]
    assert worker.process.log().count("Exception thrown while calling task.commit_record()") == 1 + transformed
    assert noted("offset") == [None]

    secret.write_text("second")
    worker.process.wait_until(lambda: noted("password")[-1] == "second", "see the new password", 30)
    assert noted("password")[0] == "first"
    shown = metrics_of(worker)
    assert f'acknowledging_call_total{{connector="{name}",part="connector"}} 1.0' in shown
    counted = f'acknowledging_call_total{{connector="{name}",part="task",task="0"}}'
    assert any(line.startswith(counted) for line in shown)
    plans = f'without_plan_total{{connector="{name}",task="0",text="secret",transformation="drop"}}'
    assert any(line.startswith(plans) for line in shown) is transformed

    worker.process.wait_until(lambda: worker.offsets(name) != [], "commit", 30)
    worker.process.call("POST", f"/connectors/{name}/restart")
    worker.process.wait_until(lambda: noted("offset")[-1] == {"n": 3}, "read the committed offset", 30)
    assert noted("offsets")[-1] == [None, {"n": 3}]
    worker.process.call("DELETE", f"/connectors/{name}")


def test_records_that_are_polled_one_by_one_are_encoded_together(
    worker: SourceWorker, topic_prefix: str, tmp_path: Path
) -> None:
    """Two thousand batches of one record take ten seconds and more."""
    name, journal, count = f"{topic_prefix}t", tmp_path / "journal", 2000
    config = {"connector.class": "Acknowledging", "topic": name, "journal": str(journal), "singly": str(count)}
    worker.create(name, {**config, "password": "x"})
    numbers = range(1, count + 1)
    assert worker.values(name, count) == [f'{{"schema":null,"payload":{number}}}' for number in numbers]
    worker.process.wait_until(lambda: journal.read_text().count('["record"') == count, "acknowledge all", 30)
    entries = [json.loads(line) for line in journal.read_text().splitlines()]
    noted = [said for entry, said in entries if entry == "record"]
    assert noted == [[number, {"n": number}, [name, 0, number - 1, None]] for number in numbers]
    last = [{"n": count}]
    worker.process.wait_until(lambda: [one["offset"] for one in worker.offsets(name)] == last, "commit the last", 30)
    sizes = [line for line in metrics_of(worker) if line.startswith(f"{BATCH_SIZE}{{")]
    (size,) = [line for line in sizes if f'connector="{name}"' in line]
    assert float(size.rpartition(" ")[2]) > 3
    worker.process.call("DELETE", f"/connectors/{name}")


def test_a_value_that_does_not_fit_its_schema(worker: SourceWorker, topic_prefix: str) -> None:
    name = f"{topic_prefix}t"
    worker.create(name, {"connector.class": "Letters", "topic": name, "wrong": "true"}, "RUNNING", "FAILED")
    assert worker.trace(name).splitlines()[0] == (
        "org.apache.kafka.connect.errors.DataException: "
        "Invalid Python object for schema type INT32: str for field: \"id\": 'one'"
    )


def test_a_record_too_large_fails_the_task(worker: SourceWorker, topic_prefix: str) -> None:
    name = f"{topic_prefix}t"
    config = {"connector.class": "Letters", "topic": name, "giant": "1100000"}
    worker.create(name, config, "RUNNING", "FAILED")
    assert worker.trace(name).splitlines()[0] == (
        "org.apache.kafka.connect.errors.ConnectException: Unrecoverable exception from producer send callback: "
        "Unable to produce message: Broker: Message size too large: "
        f"a record for topic {name} with a value of {1_100_000 + len(envelope(''))} bytes"
    )
    assert worker.offsets(name) == []


def test_a_record_too_large_may_be_left_out(worker: SourceWorker, topic_prefix: str) -> None:
    name = f"{topic_prefix}t"
    config = {"connector.class": "Letters", "topic": name, "giant": "1100000", "errors.tolerance": "all"}
    worker.create(name, config)
    assert [json.loads(text)["payload"] for text in worker.values(name, 2)] == ["small", "also small"]
    worker.process.wait_until(lambda: worker.offsets(name) != [], "commit", 30)
    worker.process.wait_states(name, "RUNNING", "RUNNING")
    assert f"WorkerSourceTask{{id={name}-0}} failed to send record: " in worker.process.log()


def test_a_record_as_large_as_java_sends_by_default(worker: SourceWorker, topic_prefix: str) -> None:
    name = f"{topic_prefix}t"
    worker.create(name, {"connector.class": "Letters", "topic": name, "giant": "1040000"})
    assert worker.values(name, 3)[1] == envelope("x" * 1_040_000)


def test_s4_01_transforms_apply_in_their_order(worker: SourceWorker, topic_prefix: str, tmp_path: Path) -> None:
    file, topic = tmp_path / "in.txt", f"{topic_prefix}t"
    file.write_text("one\nsecret\ntwo\n")
    edits = {
        "transforms": "mark, drop,route,key",
        "transforms.mark.type": "edits.Append",
        "transforms.mark.text": "!",
        "transforms.drop.type": "edits.Without",
        "transforms.drop.text": "secret!",
        "transforms.route.type": "Route",
        "transforms.route.text": "-routed",
        "transforms.key.type": "edits.KeyFromValue",
        "transforms.key.text": "key:",
    }
    worker.create_file_source(topic, file, topic, **PLAIN, **STRING, **edits)
    records = read_topic(worker.broker.bootstrap_servers, f"{topic}-routed", 2)
    assert [(one.key(), one.value()) for one in records] == [(b"key:one!", b"one!"), (b"key:two!", b"two!")]
    worker.wait_position(topic, file, 15)
    progress = worker.process.call("GET", "/dagster/progress").json[f"{topic}-0"]
    assert progress["totalInputRows"] == 2
    assert worker.process.call("GET", f"/connectors/{topic}/topics").json == {topic: {"topics": [f"{topic}-routed"]}}
    assert worker.process.log().count("transformation chain {edits.Append, edits.Without, edits.Route, ") == 1


def test_a_batch_of_which_nothing_is_left_is_committed(worker: SourceWorker, topic_prefix: str, tmp_path: Path) -> None:
    file, topic = tmp_path / "in.txt", f"{topic_prefix}t"
    file.write_text("secret\n")
    edits = {"transforms": "drop", "transforms.drop.type": "edits.Without", "transforms.drop.text": "secret"}
    worker.create_file_source(topic, file, topic, **PLAIN, **edits)
    worker.wait_position(topic, file, 7)
    assert worker.process.call("GET", f"/connectors/{topic}/topics").json == {topic: {"topics": []}}


def test_a_sinks_records_pass_transforms_too(worker: SourceWorker, topic_prefix: str, tmp_path: Path) -> None:
    file, topic = tmp_path / "in.txt", f"{topic_prefix}t"
    file.write_text("one\nsecret\ntwo\n")
    worker.create_file_source(topic, file, topic)
    edits = {
        "transforms": "mark,drop",
        "transforms.mark.type": "edits.Append",
        "transforms.mark.text": "!",
        "transforms.drop.type": "edits.Without",
        "transforms.drop.text": "secret",
    }
    out, sink = tmp_path / "out.txt", f"{topic_prefix}sink"
    worker.create(sink, {"connector.class": "FileStreamSink", "file": str(out), "topics": topic, **edits})
    worker.process.wait_until(lambda: out.read_text() == "one!\ntwo!\n", "write the changed lines", 60)


def test_a_transform_that_is_not_there(worker: SourceWorker, topic_prefix: str, tmp_path: Path) -> None:
    name = f"{topic_prefix}t"
    config = {"connector.class": "FileStreamSource", "file": str(tmp_path / "in"), "topic": name}
    broken = {**config, "name": name, "transforms": "a", "transforms.a.type": "no.such.Transform"}
    answer = worker.process.call("PUT", f"/connectors/{name}/config", broken)
    assert answer.status == 400 or worker.process.wait_states(name, "RUNNING", "FAILED")
    shown = answer.message if answer.status == 400 else worker.trace(name)
    assert "no.such.Transform" in shown
