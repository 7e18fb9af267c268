"""Builds the task objects of a worker from configurations (Java: ``Worker.TaskBuilder``).

The connector's configuration governs converters, transforms, clients, topics and error handling; the task's own
configuration is passed to the plugin alone.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from connect_dagster.isolation.descriptions import PluginDescription
from connect_dagster.isolation.plugin_source import class_name, class_path
from connect_dagster.isolation.plugins import Plugins
from connect_dagster.kafka.clients import range_options
from connect_dagster.kafka.groups import remove_members
from connect_dagster.kafka.topic_admin import TopicAdmin
from connect_dagster.plugin.connector import Connector, SinkTask, SourceTask
from connect_dagster.plugin.converter import Predicate, Transform
from connect_dagster.plugin.frames import executors_are_local
from connect_dagster.plugin.rate import Rate
from connect_dagster.protocol.states import State, TargetState, TaskId
from connect_dagster.storage.offset_store import OffsetStore
from connect_dagster.worker.bytes_bound import EncodedBound, ReadBound
from connect_dagster.worker.config.rate_limit import rate_of
from connect_dagster.worker.config.sink import SinkConnectorConfig
from connect_dagster.worker.config.source import SourceConnectorConfig
from connect_dagster.worker.config.worker import WorkerConfig
from connect_dagster.worker.errors.dead_letter_queue import DeadLetterQueue
from connect_dagster.worker.errors.policy import ErrorPolicy
from connect_dagster.worker.errors.reporter import ErrorReporter
from connect_dagster.worker.metrics.tasks import AliasedPlugin, TaskMetrics, TaskPlugins
from connect_dagster.worker.metrics.worker_metrics import WorkerMetrics
from connect_dagster.worker.rate_limiter import RateLimiter
from connect_dagster.worker.record_plugins import RecordPluginFactory, RecordPlugins
from connect_dagster.worker.sink.batch_size import MOST_RECORDS
from connect_dagster.worker.sink.consumer import SinkConsumer
from connect_dagster.worker.sink.counting_reader import CountingReader
from connect_dagster.worker.sink.departures import Departures
from connect_dagster.worker.sink.pipeline import SinkPipeline
from connect_dagster.worker.sink.plans import SinkPlanner
from connect_dagster.worker.sink.stream import SinkStream
from connect_dagster.worker.sink.task import SinkSettings, WorkerSinkTask
from connect_dagster.worker.source.batches import SourceBatches
from connect_dagster.worker.source.delivery import Delivery, LargeBatchGate
from connect_dagster.worker.source.executor_writer import ExecutorWriter
from connect_dagster.worker.source.opening import AtLeastOnceClients, ExactlyOnceClients, ExactlyOnceStart
from connect_dagster.worker.source.pipeline import SourcePipeline
from connect_dagster.worker.source.task import WorkerSourceTask
from connect_dagster.worker.source.topic_creation import TopicCreation, topic_groups
from connect_dagster.worker.source.transaction_ends import NoEnds, ends_of
from connect_dagster.worker.spark.session import Session
from connect_dagster.worker.task_clients import TaskClients

log = logging.getLogger(__name__)

Properties = Mapping[str, str]
RunningTask = WorkerSourceTask | WorkerSinkTask


@dataclass(frozen=True, slots=True)
class TaskListeners:
    """Callbacks of running tasks.

    Attributes:
        status: called with each state, and with the trace of a failure.
        topics: called with the connector and the topics of a batch.
    """

    status: Callable[[TaskId, State, str | None], None]
    topics: Callable[[TaskId, set[str]], None]


class TaskBuilder:
    """Makes source and sink tasks with their clients, converters, transforms and metrics.

    Args:
        worker: the worker's configuration.
        plugins: all plugins.
        session: the Spark session, shared by all tasks.
        offsets: committed offsets of source connectors.
        metrics: of the worker; gets a group for each task.
        clients: settings of the tasks' Kafka clients.
        masked: returns the text of an error without secrets.
        is_member: returns whether this worker's group still counts it in.
    """

    def __init__(
        self,
        worker: WorkerConfig,
        plugins: Plugins,
        session: Session,
        offsets: OffsetStore,
        metrics: WorkerMetrics,
        clients: TaskClients,
        masked: Callable[[str], str],
        is_member: Callable[[], bool],
    ) -> None:
        self._worker = worker
        self._session = session
        self._offsets = offsets
        self._metrics = metrics
        self._clients = clients
        self._masked = masked
        self._is_member = is_member
        self._load_class = plugins.load_class
        self._plugins = RecordPluginFactory(plugins, worker)
        self._gate = LargeBatchGate()
        self._departures = Departures(remove_members)

    def build(
        self,
        id: TaskId,
        connector: PluginDescription[Connector],
        connector_config: Properties,
        config: Properties,
        configs: Callable[[], Properties],
        target: TargetState,
        listeners: TaskListeners,
        exactly_once: ExactlyOnceStart | None = None,
        *,
        tasks: int = 1,
    ) -> RunningTask:
        """Return a task that is not started yet.

        Args:
            id: of the task.
            connector: the connector's plugin.
            connector_config: the connector's configuration, placeholders resolved.
            config: the task's own configuration, placeholders resolved.
            configs: returns it with the values of its placeholders at that time.
            target: STARTED, PAUSED or STOPPED.
            listeners: callbacks of the task.
            exactly_once: steps before the start of a source task that writes in transactions; ``None`` for others.
            tasks: number of the connector's tasks, which share its rate.

        Raises:
            ConfigError: a value of the connector's configuration is wrong.
            ConnectError: a plugin cannot be loaded, or an override is not allowed.
        """
        task = connector.plugin().task_class()
        kind = connector.plugin.java_task_class or class_path(type(task))
        log.info("Instantiated task %s with version %s of type %s", id, connector.version, kind)
        if task.at_driver and not executors_are_local(self._session.spark):
            log.info("The records of task %s pass this worker: %s works here, not on Spark's executors", id, kind)
        rate = rate_of(connector_config, tasks)
        if isinstance(task, SourceTask):
            source = SourceConnectorConfig.parse(connector_config)
            return self._source_task(
                id, task, connector, source, config, configs, target, listeners, exactly_once, rate
            )
        sink = SinkConnectorConfig.parse(connector_config)
        return self._sink_task(id, task, connector, sink, config, configs, target, listeners, rate)

    def _source_task(
        self,
        id: TaskId,
        task: SourceTask,
        connector: PluginDescription[Connector],
        connector_config: SourceConnectorConfig,
        config: Properties,
        configs: Callable[[], Properties],
        target: TargetState,
        listeners: TaskListeners,
        exactly_once: ExactlyOnceStart | None,
        rate: Rate,
    ) -> WorkerSourceTask:
        plugins = self._plugins.make(str(id), connector_config)
        settings = self._clients.producer(id, connector_config)
        groups = topic_groups(connector_config, enabled=self._worker.topic_creation_enable)
        admin = self._clients.admin(f"connector-adminclient-{id}", connector_config) if groups else {}
        metrics = self._metrics.source_task(id, task_plugins(connector, task, plugins))
        plugins.add_metrics(metrics.of_plugin)
        topics = partial(TopicCreation, groups, lambda: TopicAdmin(admin, metrics.clients)) if groups else None
        reporter = self._reporter(id, connector_config, metrics)
        pipeline = SourcePipeline(
            plugins.chain,
            plugins.key,
            plugins.value,
            plugins.headers,
            alike=None if plugins.chain else self._plugins.converters.classes_and_options(connector_config),
        )
        # Executors would send a whole batch at once.
        sends_itself = exactly_once is not None or rate.is_limited or executors_are_local(self._session.spark)
        executors = None if sends_itself else ExecutorWriter(settings, str(id))
        commits_records = type(task).commit_record is not SourceTask.commit_record
        wants_receipts = task.wants_receipts or commits_records
        open_delivery = partial(
            Delivery,
            name=str(id),
            log_context=(id.connector, f"task-{id.task}"),
            gate=self._gate,
            topics=topics,
            turn_waited=metrics.turn_waited,
            may_send=self._is_member,
            cancel=executors.cancel if executors is not None else lambda: None,
            limiter=RateLimiter(rate, metrics.throttled),
            serve_reports=reporter.serve,
        )
        clients = (
            AtLeastOnceClients(
                settings,
                open_delivery,
                lambda: self._offsets.open(id.connector, connector_config.originals),
                wants_receipts,
                metrics.clients,
            )
            if exactly_once is None
            else ExactlyOnceClients(
                self._clients.transactional_producer(id, connector_config),
                open_delivery,
                exactly_once,
                lambda: exactly_once.open_offsets(id.connector, connector_config.originals),
                self._transaction_interval(connector_config),
                wants_receipts,
                metrics.transaction_committed,
                metrics.clients,
            )
        )
        return WorkerSourceTask(
            id,
            task,
            self._session.spark,
            self._metrics.listening(metrics, listeners.status),
            target,
            config=config,
            configs=configs,
            batches=SourceBatches(
                self._session.spark,
                pipeline,
                reporter.policy,
                EncodedBound(self._session.encoded_bytes),
                executors,
                keep_records=commits_records,
            ),
            transforms=plugins.chain,
            open_clients=clients.open,
            transactional=exactly_once is not None,
            ends=NoEnds() if exactly_once is None else ends_of(connector_config.transaction_boundary),
            flush_seconds=self._worker.offset_flush_timeout_ms / 1000,
            on_topics=lambda topics: listeners.topics(id, topics),
            metrics=metrics,
            reporter=reporter,
            load_class=self._load_class,
            rate=rate,
        )

    def _transaction_interval(self, config: SourceConnectorConfig) -> float | None:
        """Return the seconds after which a transaction ends; ``None`` where its connector alone ends it."""
        match config.transaction_boundary.lower():
            case "connector":
                return None
            case "poll":
                return math.inf
            case _:
                given = config.transaction_boundary_interval_ms
                return (self._worker.offset_flush_interval_ms if given is None else given) / 1000

    def _sink_task(
        self,
        id: TaskId,
        task: SinkTask,
        connector: PluginDescription[Connector],
        connector_config: SinkConnectorConfig,
        config: Properties,
        configs: Callable[[], Properties],
        target: TargetState,
        listeners: TaskListeners,
        rate: Rate,
    ) -> WorkerSinkTask:
        plugins = self._plugins.make(str(id), connector_config)
        consumer = self._clients.consumer(id, connector_config)
        metrics = self._metrics.sink_task(id, task_plugins(connector, task, plugins))
        plugins.add_metrics(metrics.of_plugin)
        reporter = self._reporter(id, connector_config, metrics)
        settings = SinkSettings(
            most_records=int(consumer.get("max.poll.records") or MOST_RECORDS),
            flush_interval=self._worker.offset_flush_interval_ms / 1000,
            flush_timeout=self._worker.offset_flush_timeout_ms / 1000,
            most_bytes=self._session.batch_bytes,
        )
        pipeline = SinkPipeline(
            plugins.key,
            plugins.value,
            plugins.headers,
            tolerate=reporter.policy.tolerate,
            headers=task.needs_headers or bool(plugins.chain),
            transforms=plugins.chain,
            reported=reporter.policy.reports,
        )
        topics, pattern = connector_config.topics, connector_config.topics_regex or None
        reader = CountingReader(self._session.spark, range_options(consumer, headers=pipeline.reads_headers))
        return WorkerSinkTask(
            id,
            task,
            self._session.spark,
            self._metrics.listening(metrics, listeners.status),
            target,
            config=config,
            configs=configs,
            settings=settings,
            planner=SinkPlanner(self._session.spark, pipeline, ReadBound(settings.most_bytes), reader),
            transforms=plugins.chain,
            open_consumer=lambda listener: SinkConsumer(
                consumer,
                topics,
                pattern,
                listener,
                lambda: self._clients.topic_admin(consumer),
                self._departures,
                headers=pipeline.reads_headers,
                statistics=metrics.clients,
            ),
            open_stream=partial(SinkStream, reader),
            on_topics=lambda topics: listeners.topics(id, topics),
            metrics=metrics,
            reporter=reporter,
            limiter=RateLimiter(rate, metrics.throttled),
        )

    def _reporter(
        self, id: TaskId, config: SinkConnectorConfig | SourceConnectorConfig, metrics: TaskMetrics
    ) -> ErrorReporter:
        """Return the error reporter of a task (Java: ``sinkTaskReporters``, ``sourceTaskReporters``).

        Raises:
            ConnectError: the connector overrides a client setting that the worker's policy forbids.
        """
        policy = ErrorPolicy.of(config)
        settings = policy.dead_letters
        if settings is None:
            return ErrorReporter(id, policy, metrics.errors)
        producer = self._clients.dead_letter_producer(id, config)
        admin = self._clients.admin(f"connector-dlq-adminclient-{id}", config)
        return ErrorReporter(
            id,
            policy,
            metrics.errors,
            lambda: DeadLetterQueue(id, settings, producer, admin, metrics.errors, self._masked, metrics.clients),
        )


def task_plugins(
    connector: PluginDescription[Connector], task: SourceTask | SinkTask, plugins: RecordPlugins
) -> TaskPlugins:
    """Name the plugins of a task, as its metrics show them (Java: ``TaskPluginsMetadata``).

    Args:
        connector: the connector's plugin.
        task: the plugin's task.
        plugins: those that its records pass through.
    """
    texts = {
        "connector-class": connector.class_name,
        "connector-type": connector.kind.value,
        "connector-version": connector.version,
        "task-class": connector.plugin.java_task_class or class_path(type(task)),
        "task-version": connector.version,
        "key-converter-class": class_name(type(plugins.key)),
        "key-converter-version": plugins.key.version,
        "value-converter-class": class_name(type(plugins.value)),
        "value-converter-version": plugins.value.version,
        "header-converter-class": class_name(type(plugins.headers)),
        "header-converter-version": plugins.headers.version,
    }
    return TaskPlugins(
        texts,
        tuple(_aliased(one.alias, one.transform) for one in plugins.chain),
        tuple(_aliased(alias, predicate) for alias, predicate in plugins.predicates.items()),
    )


def _aliased(alias: str, plugin: Transform | Predicate) -> AliasedPlugin:
    return AliasedPlugin(alias, class_name(type(plugin)), plugin.version)
