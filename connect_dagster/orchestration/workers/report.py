"""Metadata of a worker's observations, which its run reports.

The UI plots whole and decimal numbers only, and one key keeps one type.
"""

import math
import time
from typing import Any

from dagster import MetadataValue

from connect_dagster.client.masking import mask_text
from connect_dagster.client.rest_client import KafkaConnectClient, KafkaConnectError
from connect_dagster.client.types import State
from connect_dagster.orchestration.workers.process import WorkerProcess

REBALANCES = "kafka_connect_worker_rebalance_completed_rebalances_total"


def running(worker: WorkerProcess, client: KafkaConnectClient, rest_worker_id: str) -> dict[str, Any]:
    """Return the metadata of a running worker, with data of its REST API.

    Args:
        worker: Its process.
        client: Asks it.
        rest_worker_id: The ``worker_id`` under which connectors and tasks on it report.
    """
    metadata: dict[str, Any] = {
        "pid": worker.pid,
        "worker_id": rest_worker_id,
        "rest_url": MetadataValue.url(mask_text(client.url)),
        "uptime_seconds": float(worker.uptime),
        "heartbeat": MetadataValue.timestamp(time.time()),
        "worker_running": 1,
    }
    if (memory := worker.memory) is not None:
        metadata["rss_bytes"] = memory
    try:
        return metadata | {"rest_answering": 1} | _rest_metadata(client, rest_worker_id)
    except KafkaConnectError as error:
        return metadata | {"rest_answering": 0, "rest_error": str(error)}


def ended(worker: WorkerProcess, rest_worker_id: str) -> dict[str, Any]:
    """Return the metadata of a worker whose process has ended."""
    return {
        "pid": worker.pid,
        "worker_id": rest_worker_id,
        "uptime_seconds": float(worker.uptime),
        "worker_running": 0,
        "rest_answering": 0,
        "exit": worker.exit_description(),
    }


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
    rebalances = client.metrics().get(REBALANCES, math.nan)
    return metadata if math.isnan(rebalances) else metadata | {"rebalance_total": int(rebalances)}
