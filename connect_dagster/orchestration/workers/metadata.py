"""Metadata of hosted processes, from the process and from the REST API of a worker.

Dagster plots whole and decimal numbers only, and one key keeps one type.
"""

import math
import time
from dataclasses import dataclass
from typing import Any

from dagster import MetadataValue

from connect_dagster.client.masking import mask_text
from connect_dagster.client.rest_client import KafkaConnectClient, KafkaConnectError
from connect_dagster.client.types import State
from connect_dagster.orchestration.workers.process import WorkerProcess

_REBALANCES = "kafka_connect_worker_rebalance_completed_rebalances_total"


class ProcessReport:
    """Metadata of a hosted process; this one knows the process alone."""

    def running(self, process: WorkerProcess) -> dict[str, Any]:
        """Return the metadata of a process that runs."""
        metadata: dict[str, Any] = {
            "pid": process.pid,
            "uptime_seconds": float(process.uptime),
            "heartbeat": MetadataValue.timestamp(time.time()),
            "worker_running": 1,
        }
        return metadata if (memory := process.memory) is None else {**metadata, "rss_bytes": memory}

    def ended(self, process: WorkerProcess) -> dict[str, Any]:
        """Return the metadata of a process that has ended."""
        return {
            "pid": process.pid,
            "uptime_seconds": float(process.uptime),
            "worker_running": 0,
            "exit": process.exit_description(),
        }


@dataclass(frozen=True, slots=True)
class WorkerReport(ProcessReport):
    """Metadata of a worker, with data of its REST API.

    Attributes:
        client: Asks it.
        rest_worker_id: The ``worker_id`` under which connectors and tasks on it report.
    """

    client: KafkaConnectClient
    rest_worker_id: str

    def running(self, process: WorkerProcess) -> dict[str, Any]:
        metadata = {
            **ProcessReport.running(self, process),
            "worker_id": self.rest_worker_id,
            "rest_url": MetadataValue.url(mask_text(self.client.url)),
        }
        try:
            return metadata | {"rest_answering": 1} | _rest_metadata(self.client, self.rest_worker_id)
        except KafkaConnectError as error:
            return metadata | {"rest_answering": 0, "rest_error": str(error)}

    def ended(self, process: WorkerProcess) -> dict[str, Any]:
        return {**ProcessReport.ended(self, process), "worker_id": self.rest_worker_id, "rest_answering": 0}


def _rest_metadata(client: KafkaConnectClient, rest_worker_id: str) -> dict[str, Any]:
    server = client.server_info()
    statuses = [connector.status for connector in client.connectors().values()]
    tasks = [task for status in statuses for task in status.tasks if task.worker_id == rest_worker_id]
    metadata = {
        "version": server.version,
        "commit": server.commit,
        "kafka_cluster_id": server.kafka_cluster_id,
        "connector_count": sum(status.connector.worker_id == rest_worker_id for status in statuses),
        "task_count": len(tasks),
        "tasks_failed": sum(task.state is State.FAILED for task in tasks),
    }
    rebalances = client.metrics().get(_REBALANCES, math.nan)
    return metadata if math.isnan(rebalances) else metadata | {"rebalance_total": int(rebalances)}
