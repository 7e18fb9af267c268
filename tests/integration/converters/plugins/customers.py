"""A source of customers, as a change data capture would send them, and a transform that names their topic anew."""

import threading
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.plugin.config import ConfigDef, Importance, config_key
from connect_dagster.plugin.connector import Properties, SourceConnector, SourceTask
from connect_dagster.plugin.converter import Transform
from connect_dagster.plugin.frames import Frame
from connect_dagster.plugin.records import SourceRecord
from connect_dagster.plugin.schema import DATE, DECIMAL, TIMESTAMP, Schema, SchemaField, SchemaType

KEY = Schema(
    SchemaType.STRUCT,
    name="mysqlavro.ops.customers.Key",
    fields=(SchemaField("id", Schema(SchemaType.INT32)),),
)
VALUE = Schema(
    SchemaType.STRUCT,
    name="mysqlavro.ops.customers.Value",
    fields=(
        SchemaField("id", Schema(SchemaType.INT32)),
        SchemaField("name", Schema(SchemaType.STRING, optional=True)),
        SchemaField(
            "balance",
            Schema(SchemaType.BYTES, optional=True, name=DECIMAL, version=1, parameters=(("scale", "2"),)),
        ),
        SchemaField("born", Schema(SchemaType.INT32, optional=True, name=DATE, version=1)),
        SchemaField("created", Schema(SchemaType.INT64, name=TIMESTAMP, version=1)),
    ),
)
CREATED = datetime(2022, 1, 21, 0, 44, 13, 123000, tzinfo=UTC)
ROWS: list[dict[str, Any]] = [
    {"id": 1, "name": "세번째", "balance": Decimal("-1.50"), "born": date(1999, 12, 31), "created": CREATED},
    {"id": 2, "name": None, "balance": None, "born": None, "created": CREATED},
]


class CustomersConfig(ConfigDef):
    """Configuration of the connector."""

    topic: str = config_key("topic", importance=Importance.HIGH, doc="Topic of the records.")


class CustomersTask(SourceTask):
    """Has its records once, unless they were committed."""

    def start(self, config: Properties) -> None:
        self.topic = CustomersConfig.parse(config).topic
        self.idle = threading.Event()
        self.sent = self.context.offsets.offset({"table": "customers"}) is not None

    def poll(self) -> list[SourceRecord] | None:
        if self.sent:
            self.idle.wait(0.1)
            return None
        self.sent = True
        return [
            SourceRecord({"table": "customers"}, {"n": row["id"]}, self.topic, row, VALUE, {"id": row["id"]}, KEY)
            for row in ROWS
        ]

    def stop(self) -> None:
        self.idle.set()


class CustomersConnector(SourceConnector):
    """One task."""

    config_def = CustomersConfig
    task_class = CustomersTask

    def start(self, config: Properties) -> None:
        self.config = dict(config)

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [dict(self.config)]


class Dashes(Transform):
    """Names topics with dashes in place of dots."""

    config_def = ConfigDef

    def configure(self, config: Mapping[str, str]) -> None: ...

    def apply(self, frame: Frame) -> Frame:
        return frame.with_column("topic", F.replace(frame.column("topic"), F.lit("."), F.lit("-")))
