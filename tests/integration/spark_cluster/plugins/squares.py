"""A source whose frames executors make with a Python function, once."""

import threading

from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.plugin import (
    ConfigDef,
    Importance,
    Properties,
    Schema,
    SchemaType,
    SourceConnector,
    SourceFrame,
    SourceTask,
    config_key,
)


class SquaresConfig(ConfigDef):
    """Configuration of the source."""

    topic: str = config_key("topic", importance=Importance.HIGH, doc="Topic of the squares.")
    count: str = config_key("count", importance=Importance.HIGH, doc="Number of squares.")


class SquaresTask(SourceTask):
    """Sends the squares of 0 to ``count``."""

    def start(self, config: Properties) -> None:
        self.config = SquaresConfig.parse(config)
        self.ending = threading.Event()
        self.sent = self.context.offsets.offset({"squares": "all"}) is not None

    def poll(self) -> SourceFrame | None:
        if self.sent:
            self.ending.wait(1)
            return None
        self.sent, count = True, int(self.config.count)
        square = F.udf(lambda number: number * number, "bigint")
        df = self.context.spark.range(count).select(square("id").alias("value"))
        end = {"end": count}
        return SourceFrame(df, {"squares": "all"}, end, topic=self.config.topic, value_schema=Schema(SchemaType.INT64))

    def stop(self) -> None:
        self.ending.set()


class SquaresSource(SourceConnector):
    """Has one task."""

    config_def = SquaresConfig
    task_class = SquaresTask
