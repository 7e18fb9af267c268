"""A source task without a worker: what it polls, and the offsets of what was delivered."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from connect_dagster.connectors.jdbc.source.connector import JdbcSourceTask
from connect_dagster.converters.plain.simple_header_converter import SimpleHeaderConverter
from connect_dagster.plugin.connector import LoadClass, OffsetReader, Properties, TransactionContext, importable_class
from connect_dagster.plugin.frames import SourceFrame, SourceQuery
from connect_dagster.plugin.header_converter import HeaderConverter
from connect_dagster.plugin.lines import SourceBatch
from connect_dagster.plugin.metrics import Metrics
from connect_dagster.plugin.rate import UNLIMITED, Rate
from connect_dagster.testing.contexts import CollectedMetrics
from tests.databases import Database


@dataclass(slots=True)
class Offsets(OffsetReader):
    """Offsets by partition, as a worker keeps them."""

    stored: dict[frozenset[tuple[str, Any]], Mapping[str, Any]] = field(default_factory=dict)

    def offset(self, partition: Mapping[str, Any]) -> dict[str, Any] | None:
        found = self.stored.get(frozenset(partition.items()))
        return None if found is None else dict(found)

    def commit(self, frame: SourceBatch) -> None:
        for partition, offset in frame.offsets:
            if offset is None:
                self.stored.pop(frozenset(partition.items()), None)
            else:
                self.stored[frozenset(partition.items())] = offset

    def shown(self) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        return [(dict(partition), dict(offset)) for partition, offset in self.stored.items()]


@dataclass(frozen=True, slots=True)
class Context:
    spark: SparkSession
    offsets: Offsets
    metrics: Metrics = field(default_factory=CollectedMetrics)
    header_converter: HeaderConverter = field(default_factory=SimpleHeaderConverter)
    load_class: LoadClass = importable_class
    transaction_context: TransactionContext | None = None
    configs: Callable[[], Properties] = dict
    rate: Rate = UNLIMITED


@dataclass(slots=True)
class Running:
    """A task that runs."""

    task: JdbcSourceTask
    offsets: Offsets

    def frames(self, polls: int = 60) -> Iterator[SourceBatch]:
        """Frames until the task has nothing more."""
        quiet = 0
        for _ in range(polls):
            frame = self.task.poll()
            if frame is not None:
                yield frame
            busy = any(scheduled.querier.busy for scheduled in self.task._queriers)
            quiet = 0 if busy or frame is not None else quiet + 1
            if quiet > 3:
                return

    def rows(self) -> list[Any]:
        """Values of the records that come now, each batch delivered and committed."""
        found: list[Any] = []
        for frame in self.frames():
            found += taken(frame)
            self.delivered(frame)
        return found

    def delivered(self, frame: SourceBatch) -> None:
        self.offsets.commit(frame)
        self.task.delivered(frame)


def taken(frame: SourceBatch) -> list[Any]:
    """Values of a frame, or of a query as it runs in a plan that is kept; keys and values where it has keys."""
    assert isinstance(frame, SourceFrame | SourceQuery)
    if isinstance(frame, SourceQuery):
        frame.set_rows()
    return rows_of(frame.df)


def rows_of(df: DataFrame) -> list[Any]:
    """Values of records; keys and values where they have keys."""
    rows = df.toArrow().to_pylist()
    return [(row["key"], row["value"]) if "key" in row else row["value"] for row in rows]


@contextmanager
def task(
    spark: SparkSession, database: Database, mode: str, tables: str, kept: Offsets | None = None, /, **more: str
) -> Iterator[Running]:
    """A task with these tables, or with a query when there are none; `more` has underscores for dots."""
    made = JdbcSourceTask()
    offsets = kept or Offsets()
    made.context = Context(spark, offsets)
    config = {
        **database.connection_config,
        "mode": mode,
        "tables": tables,
        "topic.prefix": "t-",
        "poll.interval.ms": "10",
        **{key.replace("_", "."): value for key, value in more.items()},
    }
    try:
        made.start(config)
        yield Running(made, offsets)
    finally:
        made.stop()
