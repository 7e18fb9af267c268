"""A source that makes the same records as a list or as a frame, as many as it is asked for."""

from __future__ import annotations

import time
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.plugin import (
    STRING_SCHEMA,
    ConfigDef,
    Properties,
    Schema,
    SchemaField,
    SchemaType,
    SourceConnector,
    SourceFrame,
    SourceRecord,
    SourceTask,
    config_key,
    one_of,
)

ORDER = Schema(
    SchemaType.STRUCT,
    fields=(
        SchemaField("id", Schema(SchemaType.INT64)),
        SchemaField("customer", STRING_SCHEMA),
        SchemaField("amount", Schema(SchemaType.INT32)),
        SchemaField("paid", Schema(SchemaType.BOOLEAN)),
    ),
)
SCHEMAS = {"text": STRING_SCHEMA, "dict": None, "struct": ORDER}
PLACE = {"shop": "a"}
_IDLE_SECONDS = 0.05


class GeneratedConfig(ConfigDef):
    """Configuration of the source."""

    topic: str = config_key("topic", doc="Topic of the records.")
    shape: str = config_key("shape", validator=one_of(*SCHEMAS), doc="Shape of their values.")
    form: str = config_key("form", validator=one_of("list", "frame"), doc="Result of each poll.")
    poll: int = config_key("poll", doc="Records of each poll.")
    records: int = config_key("records", doc="Records in all.")


class GeneratedTask(SourceTask):
    """Makes records by their numbers."""

    def start(self, config: Properties) -> None:
        self.config = GeneratedConfig.parse(config)
        self.schema = SCHEMAS[self.config.shape]
        self.end = 0

    def poll(self) -> list[SourceRecord] | SourceFrame | None:
        start, self.end = self.end, min(self.end + self.config.poll, self.config.records)
        if start == self.end:
            time.sleep(_IDLE_SECONDS)
            return None
        if self.config.form == "frame":
            value = _column(self.config.shape).alias("value")
            rows = self.context.spark.range(start, self.end).select(value)
            return SourceFrame(rows, PLACE, {"n": self.end}, topic=self.config.topic, value_schema=self.schema)
        make = _text if self.config.shape == "text" else _order
        topic, schema = self.config.topic, self.schema
        return [SourceRecord(PLACE, {"n": n + 1}, topic, make(n), schema) for n in range(start, self.end)]

    def stop(self) -> None:
        """Nothing to close."""


class GeneratedConnector(SourceConnector):
    """One task."""

    config_def = GeneratedConfig
    task_class = GeneratedTask


def _text(n: int) -> str:
    return f"order {n} of customer {n % 977} was paid"


def _order(n: int) -> dict[str, Any]:
    return {"id": n, "customer": f"customer {n % 977}", "amount": n % 9973, "paid": n % 3 == 0}


def _column(shape: str) -> Column:
    customer = F.concat(F.lit("customer "), (F.col("id") % 977).cast("string"))
    if shape == "text":
        return F.concat(F.lit("order "), F.col("id").cast("string"), F.lit(" of "), customer, F.lit(" was paid"))
    order = F.struct(
        F.col("id"),
        customer.alias("customer"),
        (F.col("id") % 9973).cast("int").alias("amount"),
        (F.col("id") % 3 == 0).alias("paid"),
    )
    return F.to_json(order) if shape == "dict" else order
