"""The seed's five sinks into PostgreSQL, with Avro and a registry: tables that follow what their sources do."""

import functools
import json
import random
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from tests.databases import Database, PostgreSQL
from tests.integration.jdbc.conftest import SINK
from tests.integration.jdbc.sink.conftest import Records, Sinks
from tests.integration.topics import create

COLUMNS: dict[str, dict[str, Any]] = {
    "boards": {"title": "string", "body": ["null", "string"]},
    "order_items": {"product_id": "int", "quantity": "int", "unit_price": "double"},
    "products": {"name": "string", "price": "double"},
    "customers": {"name": "string", "email": "string"},
    "orders": {"customer_id": "long", "paid": "boolean"},
}
SAMPLES: dict[str, Any] = {"string": "x", "int": 7, "long": 1 << 40, "double": 2.5, "boolean": True}
KEY = {"type": "record", "name": "Key", "fields": [{"name": "id", "type": "long"}]}


@dataclass
class SourceTable:
    """A table whose changes are sent as they happen."""

    name: str
    topic: str
    registry: SchemaRegistryClient
    rows: dict[int, dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        fields = [{"name": name, "type": kind} for name, kind in {"id": "long", **COLUMNS[self.name]}.items()]
        value = {"type": "record", "name": self.name, "namespace": "ops", "fields": fields}
        self._key = AvroSerializer(self.registry, json.dumps(KEY))
        self._value = AvroSerializer(self.registry, json.dumps(value))

    def changes(self, count: int) -> Iterator[tuple[bytes | None, bytes | None]]:
        """Inserts, updates and deletes by chance, as records."""
        chance = random.Random(self.name)
        for _ in range(count):
            id = chance.randrange(count // 3)
            if id in self.rows and chance.random() < 0.3:
                del self.rows[id]
                yield self._encoded(id, None)
            else:
                self.rows[id] = {name: self._sample(kind, chance) for name, kind in COLUMNS[self.name].items()}
                yield self._encoded(id, {"id": id, **self.rows[id]})

    def expected(self) -> list[tuple[Any, ...]]:
        return [(id, *row.values()) for id, row in sorted(self.rows.items())]

    def _sample(self, kind: Any, chance: random.Random) -> Any:
        if isinstance(kind, list):
            return None if chance.random() < 0.5 else "text"
        return f"text {chance.random()}" if kind == "string" else SAMPLES[kind]

    def _encoded(self, id: int, value: dict[str, Any] | None) -> tuple[bytes | None, bytes | None]:
        key = self._key({"id": id}, SerializationContext(self.topic, MessageField.KEY))
        if value is None:
            return key, None
        return key, self._value(value, SerializationContext(self.topic, MessageField.VALUE))


def test_s5_29_five_sinks_follow_their_sources(sinks: Sinks, postgresql: PostgreSQL, schema_registry: str) -> None:
    database, process, broker = postgresql.new_database(), sinks.process, sinks.broker.bootstrap_servers
    registry = SchemaRegistryClient({"url": schema_registry})
    avro = "io.confluent.connect.avro.AvroConverter"
    tables = [SourceTable(name, f"{sinks.prefix}mysqlavro-ops-{name}", registry) for name in COLUMNS]
    producer = Producer({"bootstrap.servers": broker, "linger.ms": 20})
    with ExitStack() as clean:
        for table in tables:
            create(broker, table.topic, 1)
            name = f"postgres_jdbc_ops_sink_{table.name}_avro_01"
            config = {
                "connector.class": SINK,
                "tasks.max": "1",
                "topics": table.topic,
                "key.converter": avro,
                "key.converter.schema.registry.url": schema_registry,
                "value.converter": avro,
                "value.converter.schema.registry.url": schema_registry,
                "transforms": "table",
                "transforms.table.type": "org.apache.kafka.connect.transforms.RegexRouter",
                "transforms.table.regex": ".*mysqlavro-ops-(.*)",
                "transforms.table.replacement": "$1",
                "insert.mode": "upsert",
                "pk.mode": "record_key",
                "delete.enabled": "true",
                "auto.create": "true",
                **database.connection_config,
            }
            assert process.call("PUT", f"/connectors/{name}/config", config).status == 201
            clean.callback(process.call, "DELETE", f"/connectors/{name}")
        for table in tables:
            process.wait_states(f"postgres_jdbc_ops_sink_{table.name}_avro_01", "RUNNING", "RUNNING", timeout=60)
        for count in (30, 300):
            for table in tables:
                for key, value in table.changes(count):
                    producer.produce(table.topic, value, key)
            assert producer.flush(30) == 0
        for table in tables:
            process.wait_until(functools.partial(follows, database, table), f"have {table.name} follow", 60)


def follows(database: Database, table: SourceTable) -> bool:
    """Whether the table is there and equal to its source."""
    there = f"SELECT COUNT(*) FROM information_schema.tables WHERE table_name = '{table.name}'"
    if database.query(there) == [(0,)]:
        return False
    return database.query(f"SELECT * FROM {table.name} ORDER BY id") == table.expected()


def test_s5_28_the_other_class_name_of_the_sink(sinks: Sinks, postgresql: PostgreSQL) -> None:
    config = {"connector.class": "io.aiven.connect.jdbc.JdbcSinkConnector", "auto.create": "true"}
    records = Records({"id": "int32"})
    with sinks.running(postgresql.new_database(), config) as sink:
        sink.send(records.record({"id": 7}))
        sink.await_rows([(7,)])
        assert sinks.process.call("GET", f"/connectors/{sink.name}/status").json["type"] == "sink"
