"""Sets up what a connector's ``errors.*`` settings ask for (Java: ``Worker.sinkTaskReporters`` and its sibling)."""

from __future__ import annotations

from collections.abc import Mapping

from connect_dagster.protocol.states import TaskId
from connect_dagster.worker import clients
from connect_dagster.worker.config import WorkerConfig
from connect_dagster.worker.dead_letters import DeadLetterQueue
from connect_dagster.worker.error_policy import ErrorPolicy
from connect_dagster.worker.error_reports import ErrorReports
from connect_dagster.worker.metrics.errors import ErrorMetrics


def error_reports(
    id: TaskId, connector: Mapping[str, str], worker: WorkerConfig, metrics: ErrorMetrics
) -> ErrorReports:
    """The reports of a task.

    Args:
        id: the task.
        connector: its connector's configuration.
        worker: for the brokers, and settings of all clients.
        metrics: of the task.

    Raises:
        ConfigError: a setting is wrong.
    """
    policy = ErrorPolicy.of(connector)
    settings = policy.dead_letters
    if settings is None:
        return ErrorReports(id, policy, metrics)
    brokers = worker.bootstrap_servers
    producer = clients.producer_settings(
        brokers, f"connector-dlq-producer-{id}", _overrides("producer", connector, worker)
    )
    admin = clients.admin_settings(brokers, f"connector-dlq-adminclient-{id}", _overrides("admin", connector, worker))
    return ErrorReports(id, policy, metrics, lambda: DeadLetterQueue(id, settings, producer, admin, metrics))


def _overrides(client: str, connector: Mapping[str, str], worker: WorkerConfig) -> dict[str, str]:
    return {
        **worker.client_overrides(f"{client}."),
        **clients.under_prefix(connector, f"{client}.override."),
    }
