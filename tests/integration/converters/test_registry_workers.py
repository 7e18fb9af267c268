"""Workers whose connectors use a schema registry: the real worker, broker and registry."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Message
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

from connect_dagster.embedded.ports import HOST, free_port
from connect_dagster.testing.recording_sink import read_journal
from tests.conftest import Broker
from tests.integration import topics
from tests.integration.converters.plugins.customers import ROWS
from tests.integration.worker_process import WorkerProcess
from tests.registry_server import registry_client, registry_server

PLUGINS = Path(__file__).with_name("plugins")
AVRO = "io.confluent.connect.avro.AvroConverter"
SINK = "connect_dagster.testing.recording_sink.RecordingSinkConnector"


@pytest.fixture(scope="module")
def worker(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    """A worker with JSON converters, which needs no registry."""
    props = {
        "bootstrap.servers": broker.bootstrap_servers,
        "plugin.path": str(PLUGINS),
        "key.converter.schemas.enable": "false",
        "value.converter.schemas.enable": "false",
    }
    with WorkerProcess(props, [], tmp_path_factory.mktemp("worker")) as running:
        yield running


def avro(url: str) -> dict[str, str]:
    return {
        f"{side}.converter{option}": value
        for side in ("key", "value")
        for option, value in {"": AVRO, ".schema.registry.url": url, ".max.retries": "0"}.items()
    }


def create(worker: WorkerProcess, name: str, config: dict[str, str]) -> None:
    answer = worker.call("PUT", f"/connectors/{name}/config", {"tasks.max": "1", **config})
    assert answer.status == 201, answer.json


def decoded(url: str, records: list[Message]) -> list[tuple[Any, Any]]:
    reader, context = AvroDeserializer(registry_client(url)), SerializationContext("t", MessageField.KEY)
    return [(reader(one.key(), context), reader(one.value(), context)) for one in records]


def subjects(url: str, prefix: str) -> dict[str, list[int]]:
    client = registry_client(url)
    return {one: client.get_versions(one) for one in client.get_subjects() if prefix in one}


@pytest.mark.timeout(400)
def test_s4_02_s4_03_records_in_avro_go_through_a_topic(
    worker: WorkerProcess, broker: Broker, schema_registry: str, topic_prefix: str, tmp_path: Path
) -> None:
    topic = f"{topic_prefix}mysqlavro-ops-customers"
    source = {
        "connector.class": "customers.CustomersConnector",
        "topic": topic.replace("-ops-", ".ops."),
        "transforms": "rename",
        "transforms.rename.type": "customers.Dashes",
        **avro(schema_registry),
    }
    create(worker, f"{topic_prefix}one", source)
    records = topics.read_topic(broker.bootstrap_servers, topic, 2, 120)
    assert all((part or b"")[:1] == b"\0" for one in records for part in (one.key(), one.value()))
    assert [key for key, _ in decoded(schema_registry, records)] == [{"id": 1}, {"id": 2}]
    assert [value for _, value in decoded(schema_registry, records)] == ROWS
    registered = {f"{topic}-key": [1], f"{topic}-value": [1]}
    assert subjects(schema_registry, topic_prefix) == registered

    create(worker, f"{topic_prefix}two", source)
    records = topics.read_topic(broker.bootstrap_servers, topic, 4, 120)
    assert len({(one.value() or b"")[:5] for one in records}) == 1, "a second run registers no new id"
    assert subjects(schema_registry, topic_prefix) == registered

    journal = tmp_path / "journal.jsonl"
    sink = {"connector.class": SINK, "topics": topic, "journal": str(journal), **avro(schema_registry)}
    create(worker, f"{topic_prefix}sink", sink)

    def put() -> list[dict[str, Any]]:
        return [record for call in read_journal(journal) if call["call"] == "put" for record in call["records"]]

    worker.wait_until(lambda: len(put()) == 4, "put all records", 120)
    texts = [{**row, "balance": row["balance"] and str(row["balance"])} for row in ROWS]
    found = sorted(put(), key=lambda one: one["value"]["id"])[::2]
    assert [one["key"] for one in found] == [{"id": 1}, {"id": 2}]
    assert [one["value"]["name"] for one in found] == [row["name"] for row in ROWS]
    assert [one["value"]["balance"] for one in found] == [row["balance"] for row in texts]
    assert [one["value"]["born"] for one in found] == ["1999-12-31", None]
    assert [one["value"]["created"][:23] for one in found] == ["2022-01-21 00:44:13.123"] * 2


@pytest.mark.timeout(400)
def test_s4_04_s4_05_a_registry_is_needed_by_those_who_use_it(
    worker: WorkerProcess, broker: Broker, topic_prefix: str, tmp_path: Path
) -> None:
    port = free_port()
    url = f"http://{HOST}:{port}/apis/ccompat/v7"
    plain, with_schemas = f"{topic_prefix}json", f"{topic_prefix}avro"
    customers = {"connector.class": "customers.CustomersConnector"}
    create(worker, plain, {**customers, "topic": plain})
    # The worker's schemas.enable=false is no option of this connector's converters, and would be one of theirs.
    create(worker, with_schemas, {**customers, "topic": with_schemas, **avro(url)})

    records = topics.read_topic(broker.bootstrap_servers, plain, 2, 120)
    assert json.loads(records[0].key() or b"") == {"id": 1}
    assert set(json.loads(records[1].value() or b"")) == set(ROWS[0])
    worker.wait_states(plain, "RUNNING", "RUNNING")

    status = worker.wait_states(with_schemas, "RUNNING", "FAILED", timeout=120)
    assert url in status["tasks"][0]["trace"]
    with registry_server(tmp_path / "registry", port) as running:
        assert running == url
        assert worker.call("POST", f"/connectors/{with_schemas}/restart?includeTasks=true").status in (202, 204)
        records = topics.read_topic(broker.bootstrap_servers, with_schemas, 2, 120)
        assert [value for _, value in decoded(url, records)] == ROWS
        worker.wait_states(with_schemas, "RUNNING", "RUNNING")
