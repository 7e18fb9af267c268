"""Plugins whose configuration says which records they cannot handle."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.converters.plain.string_converter import StringConverter
from connect_dagster.errors import DataError, RetriableError
from connect_dagster.plugin.config import ConfigDef, Importance, config_key
from connect_dagster.plugin.connector import Properties, SinkConnector, SinkTask, SourceConnector, SourceTask
from connect_dagster.plugin.converter import Decoder, Transform
from connect_dagster.plugin.frames import Frame, SinkBatch, SourceFrame
from connect_dagster.plugin.records import SinkRecord
from connect_dagster.plugin.schema import STRING_SCHEMA, Schema

TRIES: dict[str, int] = {}
"""How often each plugin that asks for another try was asked, by its `name`."""


def path(of: type) -> str:
    """The name under which a configuration finds a class."""
    return f"{of.__module__}.{of.__qualname__}"


class NumbersConfig(ConfigDef):
    topic: str = config_key("topic", importance=Importance.HIGH, doc="Topic.")
    count: int = config_key("count", importance=Importance.HIGH, doc="How many records.")
    giant: int = config_key("giant", default=-1, importance=Importance.LOW, doc="Number of a big record.")


class NumbersTask(SourceTask):
    """Polls `value-0`, `value-1` and so on, all at once."""

    def start(self, config: Properties) -> None:
        self._config = NumbersConfig.parse(config)
        stored = self.context.offsets.offset({"p": 1})
        self._done = stored is not None

    def poll(self) -> SourceFrame | None:
        if self._done:
            return None
        self._done = True
        config = self._config
        text = F.concat(F.lit("value-"), F.col("id").cast("string"))
        value = F.when(F.col("id") == config.giant, F.repeat(F.lit("x"), 2_000_000)).otherwise(text)
        df = self.context.spark.range(config.count).select(value.alias("value"))
        return SourceFrame(df, {"p": 1}, {"o": config.count}, topic=config.topic)

    def stop(self) -> None: ...


class NumbersSource(SourceConnector):
    config_def = NumbersConfig
    task_class = NumbersTask

    def start(self, config: Properties) -> None:
        self._config = dict(config)

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [self._config]


class ReportingConfig(ConfigDef):
    out: str = config_key("out", importance=Importance.HIGH, doc="File for the values.")
    bad: str = config_key("bad", importance=Importance.HIGH, doc="What the reported values are.")
    whole: bool = config_key("whole", default=False, importance=Importance.LOW, doc="By frames.")


class ReportingTask(SinkTask):
    """Writes values to a file and reports those that it does not like."""

    def start(self, config: Properties) -> None:
        self._config = ReportingConfig.parse(config)

    def put(self, batch: SinkBatch) -> None:
        written = self._frames(batch) if self._config.whole else self._records(batch)
        with Path(self._config.out).open("a") as out:
            out.writelines(f"{json.dumps(value)}\n" for value in written)

    def _frames(self, batch: SinkBatch) -> list[str]:
        reporter = self.context.errant_record_reporter
        assert reporter is not None
        bad = F.col("value").startswith(self._config.bad)
        for frame in batch:
            reporter.report_frame(frame.where(bad), F.concat(F.lit("not written: "), "value"))
        return [row.value for frame in batch for row in frame.where(~bad).df.collect()]

    def _records(self, batch: SinkBatch) -> list[str]:
        written = []
        for record in batch.records():
            if record.value.startswith(self._config.bad):
                self._report(record)
            else:
                written.append(record.value)
        return written

    def _report(self, record: SinkRecord) -> None:
        reporter = self.context.errant_record_reporter
        assert reporter is not None
        reporter.report(record, ValueError(f"not written: {record.value}"))

    def stop(self) -> None: ...


class ReportingSink(SinkConnector):
    config_def = ReportingConfig
    task_class = ReportingTask

    def start(self, config: Properties) -> None:
        self._config = dict(config)

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [self._config]


class FaultyConfig(ConfigDef):
    value: str = config_key("value", default="", importance=Importance.LOW, doc="The bad value.")
    name: str = config_key("name", default="", importance=Importance.LOW, doc="Of its tries.")
    tries: int = config_key("tries", default=0, importance=Importance.LOW, doc="Those that fail.")


class Faulty(Transform):
    config_def = FaultyConfig

    def configure(self, config: Mapping[str, str]) -> None:
        self.config = FaultyConfig.parse(config)

    def is_bad(self) -> Column:
        return F.col("value") == self.config.value


class Fails(Faulty):
    """Fails records as data, after some tries."""

    def apply(self, frame: Frame) -> Frame:
        tried(self.config)
        return frame.fail_where(self.is_bad(), F.concat(F.lit("bad: "), "value"))


class Raises(Faulty):
    """An expression that raises."""

    def apply(self, frame: Frame) -> Frame:
        raised = F.when(self.is_bad(), F.raise_error(F.concat(F.lit("poison: "), "value"))).otherwise(F.col("value"))
        return frame.with_column("value", raised.cast("string"))


class Refuses(Faulty):
    """Raises for whole frames."""

    def apply(self, frame: Frame) -> Frame:
        raise DataError("Only Struct objects supported for [nothing], found: java.lang.String")


class Renames(Faulty):
    """Another topic and other values."""

    def apply(self, frame: Frame) -> Frame:
        return frame.with_column("topic", F.lit("renamed")).with_column("value", F.upper("value"))


class FlakyConverter(StringConverter):
    """Must be called again some times."""

    def configure(self, config: Mapping[str, str], *, is_key: bool) -> None:
        self.config = FaultyConfig.parse(config)
        super().configure({}, is_key=is_key)

    def encode(self, schema: Schema | None, column: Column) -> Column:
        tried(self.config)
        return super().encode(STRING_SCHEMA, column)

    def expected_decoder(self, column: str) -> Decoder | None:  # type: ignore[override]  # no guess: decoders are asked
        return None

    def decoders(self, df: DataFrame, column: str) -> Sequence[Decoder]:
        tried(self.config)
        found = super().expected_decoder(column)
        assert found is not None
        return [found]


def tried(config: FaultyConfig) -> None:
    TRIES[config.name] = TRIES.get(config.name, 0) + 1
    if TRIES[config.name] <= config.tries:
        raise RetriableError("the registry is away")
