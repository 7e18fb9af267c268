"""Sets up what a connector's ``errors.*`` settings ask for (Java: ``Worker.sinkTaskReporters`` and its sibling)."""

from __future__ import annotations

from connect_dagster.protocol.states import TaskId
from connect_dagster.worker.config.sink import SinkConnectorConfig
from connect_dagster.worker.config.source import SourceConnectorConfig
from connect_dagster.worker.errors.dead_letter_queue import DeadLetterQueue
from connect_dagster.worker.errors.policy import ErrorPolicy
from connect_dagster.worker.errors.reporting import ErrorReports
from connect_dagster.worker.metrics.errors import ErrorMetrics
from connect_dagster.worker.task_clients import TaskClients


def error_reports(
    id: TaskId, config: SinkConnectorConfig | SourceConnectorConfig, clients: TaskClients, metrics: ErrorMetrics
) -> ErrorReports:
    """The reports of a task.

    Args:
        id: the task.
        config: of its connector.
        clients: settings of Kafka clients.
        metrics: of the task.

    Raises:
        ConnectError: the connector overrides what it may not.
    """
    policy = ErrorPolicy.of(config)
    settings = policy.dead_letters
    if settings is None:
        return ErrorReports(id, policy, metrics)
    producer = clients.dead_letter_producer(id, config)
    admin = clients.admin(f"connector-dlq-adminclient-{id}", config)
    return ErrorReports(id, policy, metrics, lambda: DeadLetterQueue(id, settings, producer, admin, metrics))
