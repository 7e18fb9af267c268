"""Preview of a source: the first records of its task through transforms and converters, which nobody sends."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark.sql import SparkSession

from connect_dagster.errors import ConnectError, RetriableError
from connect_dagster.isolation.plugin_source import class_path
from connect_dagster.isolation.plugins import Plugins
from connect_dagster.plugin.connector import LoadClass, OffsetReader, SourceConnector, SourceTask
from connect_dagster.plugin.frames import SourceFrame
from connect_dagster.plugin.metrics import Metrics
from connect_dagster.plugin.samples import Windows
from connect_dagster.protocol.states import TaskId
from connect_dagster.worker.config.source import SourceConnectorConfig
from connect_dagster.worker.config.worker import WorkerConfig
from connect_dagster.worker.errors.failures import FailedRecord, exception_text
from connect_dagster.worker.errors.policy import ErrorPolicy
from connect_dagster.worker.errors.retry import Retries
from connect_dagster.worker.errors.tolerance import ToleranceOperator
from connect_dagster.worker.metrics.errors import ErrorMetrics
from connect_dagster.worker.metrics.tasks import PluginMetrics
from connect_dagster.worker.record_plugins import RecordPluginFactory
from connect_dagster.worker.source.batches import Encoded, SourceBatches
from connect_dagster.worker.source.pipeline import SourcePipeline
from connect_dagster.worker.source.task import SourceContext
from connect_dagster.worker.source.transaction_ends import RequestedEnds, ends_of

_IDLE_SECONDS = 0.1
_WRITERS = ("connect_dagster.connectors.mirror.", "connect_dagster.connectors.mysql.")
"""Packages of connectors that write to Kafka themselves: topics, histories, heartbeats."""


@dataclass(slots=True)
class SourcePreview:
    """The fate of the first records.

    Attributes:
        sent: those that a producer would get, in bytes, by the names of its arguments.
        failed: those that a converter or a transform could not handle.
        polled: number of all.
    """

    sent: list[Mapping[str, Any]] = field(default_factory=list)
    failed: list[FailedRecord] = field(default_factory=list)
    polled: int = 0

    @property
    def counts(self) -> str:
        """Return the numbers of records as a text."""
        dropped = max(0, self.polled - len(self.sent) - len(self.failed))
        return f"{len(self.sent)} for Kafka, {dropped} dropped, {len(self.failed)} failed"

    def add(self, encoded: Encoded, topic: str | None, polled: int) -> None:
        """Add a batch."""
        self.sent += [{"topic": topic, **row} for row in encoded.table.to_pylist()]
        self.failed += encoded.failed
        self.polled += polled


class _NothingStored(OffsetReader):
    """The offsets of a connector that has none."""

    def offset(self, partition: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return none."""
        return None


@dataclass(slots=True)
class _ConnectorContext:
    """Services for a connector that runs for its task configurations only."""

    metrics: Metrics
    load_class: LoadClass
    offsets: _NothingStored = field(default_factory=_NothingStored)

    def request_task_reconfiguration(self) -> None:
        """Change nothing."""

    def raise_error(self, error: Exception) -> None:
        """Leave it: the task shows its effect."""


def preview_source(
    spark: SparkSession,
    plugins: Plugins,
    worker: WorkerConfig,
    connector: Mapping[str, str],
    most: int,
    seconds: float,
) -> SourcePreview:
    """Return the first records of a connector's first task, which begins as that of a new connector.

    Args:
        spark: the session.
        plugins: all plugins.
        worker: the worker's configuration.
        connector: the connector's configuration, placeholders resolved.
        most: records to poll.
        seconds: after which fewer are enough.

    Raises:
        ConnectError: a plugin cannot be loaded, or fails; or the connector writes to Kafka itself.
    """
    config = SourceConnectorConfig.parse(connector)
    id = TaskId(config.name, 0)
    record_plugins = RecordPluginFactory(plugins, worker).make(str(id), config)
    pipeline = SourcePipeline(record_plugins.chain, record_plugins.key, record_plugins.value, record_plugins.headers)
    # Nobody waits for a retry here.
    policy = ErrorPolicy(tolerate=True, log=True)
    tolerance = ToleranceOperator(Retries(policy, ErrorMetrics(id), lambda _: False))
    batches = SourceBatches(spark, pipeline, policy).under(tolerance)
    metrics = PluginMetrics(str(id), Windows(), {})
    try:
        record_plugins.add_metrics(lambda *_: metrics)
        with _task(plugins, config, metrics) as (task, task_config):
            ends = ends_of(config.transaction_boundary)
            task.context = SourceContext(
                spark,
                lambda: task_config,
                _NothingStored(),
                metrics,
                pipeline.header_converter,
                plugins.load_class,
                ends if isinstance(ends, RequestedEnds) else None,
            )
            with _failing(task, "start"):
                task.start(task_config)
            try:
                return _polled(spark, task, batches, most, time.monotonic() + seconds)
            finally:
                task.stop()
    finally:
        batches.close()
        record_plugins.close()


@contextmanager
def _task(
    plugins: Plugins, config: SourceConnectorConfig, metrics: Metrics
) -> Iterator[tuple[SourceTask, Mapping[str, str]]]:
    """Yield the first task of a connector, with its configuration, while the connector runs."""
    given = config.originals
    described = plugins.connector(given["connector.class"], given.get("connector.plugin.version"))
    if f"{described.plugin.__module__}.".startswith(_WRITERS):
        raise ConnectError(f"{described.class_name} writes to Kafka itself while it reads: it has no preview.")
    connector = described.plugin()
    assert isinstance(connector, SourceConnector)
    connector.context = _ConnectorContext(metrics, plugins.load_class)
    with _failing(connector, "start"):
        connector.start(given)
    try:
        with _failing(connector, "make task configurations"):
            configs = connector.task_configs(1)
        if not configs:
            raise ConnectError(f"{described.class_name} makes no task: there is nothing to read.")
        task = connector.task_class()
        assert isinstance(task, SourceTask)
        yield task, {**configs[0], "task.class": class_path(type(task))}
    finally:
        connector.stop()


def _polled(spark: SparkSession, task: SourceTask, batches: SourceBatches, most: int, deadline: float) -> SourcePreview:
    found = SourcePreview()
    while found.polled < most and time.monotonic() < deadline:
        try:
            with _failing(task, "poll"):
                polled = task.poll()
        except RetriableError:
            polled = None
        for batch in batches.polled(polled):
            frame = batch if isinstance(batch, SourceFrame) else batch.frame(spark)
            # Of a large batch no more is read than is shown.
            rows = frame.df.limit(most - found.polled).toArrow()
            if rows.num_rows:
                planned = batches.planned(replace(frame, df=spark.createDataFrame(rows)))
                found.add(batches.encoded(planned), planned.topic, rows.num_rows)
        if not polled:
            time.sleep(_IDLE_SECONDS)
    return found


@contextmanager
def _failing(plugin: object, step: str) -> Iterator[None]:
    """Name the plugin and the step in its errors."""
    try:
        yield
    except ConnectError:
        raise
    except Exception as error:
        raise ConnectError(f"{class_path(type(plugin))} could not {step}: {exception_text(error)}") from error
