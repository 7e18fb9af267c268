"""A source of single records with everything a record can have, and one that cannot be delivered."""

import threading
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from connect_dagster.plugin.config import ConfigDef, Importance, config_key
from connect_dagster.plugin.connector import Properties, SourceConnector, SourceTask
from connect_dagster.plugin.records import Header, SourceRecord
from connect_dagster.plugin.schema import DECIMAL, STRING_SCHEMA, TIMESTAMP, Schema, SchemaField, SchemaType

INT = Schema(SchemaType.INT32)
STRUCT = Schema(
    SchemaType.STRUCT,
    fields=(
        SchemaField("id", INT),
        SchemaField("name", Schema(SchemaType.STRING, optional=True)),
        SchemaField("kind", Schema(SchemaType.STRING, default="letter")),
        SchemaField("price", Schema(SchemaType.BYTES, name=DECIMAL, version=1, parameters=(("scale", "2"),))),
        SchemaField("at", Schema(SchemaType.INT64, name=TIMESTAMP, version=1)),
        SchemaField("tags", Schema(SchemaType.MAP, key_schema=STRING_SCHEMA, value_schema=INT)),
    ),
)
PLACE, OTHER = {"box": "a"}, {"box": "b"}
AT = datetime(2026, 11, 20, 1, 2, 3, 456000, tzinfo=UTC)
ROW = {"id": 1, "name": None, "price": Decimal("1.50"), "at": AT, "tags": {"x": 7}}


class LettersConfig(ConfigDef):
    """Configuration of the connector."""

    topic: str = config_key("topic", importance=Importance.HIGH, doc="Topic of the records.")
    giant: int = config_key("giant", default=0, importance=Importance.LOW, doc="Bytes of the second one.")
    wrong: bool = config_key("wrong", default=False, importance=Importance.LOW, doc="A wrong field.")


def letters(topic: str) -> list[SourceRecord]:
    """Records of three pairs of schemas, from two places."""
    return [
        SourceRecord(PLACE, {"n": 1}, topic, "plain text"),
        SourceRecord(
            PLACE, {"n": 2}, topic, {"free": [1, None, "세"]}, key="k", partition=2, timestamp=1_700_000_000_123
        ),
        SourceRecord(
            OTHER,
            {"n": 1},
            topic,
            ROW,
            STRUCT,
            key=5,
            key_schema=INT,
            headers=(Header("h", b"\x00\xff"), Header("h", None)),
        ),
        SourceRecord(OTHER, {"n": 2}, topic, None, key="gone"),
    ]


def giants(topic: str, size: int) -> list[SourceRecord]:
    """Three texts, the second too large."""
    texts = ["small", "x" * size, "also small"]
    return [SourceRecord(PLACE, {"n": n}, topic, text, STRING_SCHEMA) for n, text in enumerate(texts, start=1)]


class LettersTask(SourceTask):
    """Has its records once, unless they were committed."""

    def start(self, config: Properties) -> None:
        self.config = LettersConfig.parse(config)
        self.idle = threading.Event()
        self.sent = self.context.offsets.offset(PLACE) is not None

    def poll(self) -> list[SourceRecord] | None:
        if self.sent:
            self.idle.wait(0.1)
            return None
        self.sent = True
        return self._records()

    def stop(self) -> None:
        """Nothing to close."""

    def _records(self) -> list[SourceRecord]:
        topic = self.config.topic
        if self.config.wrong:
            wrong: dict[str, Any] = {**ROW, "id": "one"}
            return [SourceRecord(PLACE, {"n": 1}, topic, wrong, STRUCT)]
        return giants(topic, self.config.giant) if self.config.giant else letters(topic)


class LettersConnector(SourceConnector):
    """One task."""

    config_def = LettersConfig
    task_class = LettersTask

    def start(self, config: Properties) -> None:
        self.config = dict(config)

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [self.config]
