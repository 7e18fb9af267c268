"""Kafka Connect in Dagster: workers hosted by runs, connectors as assets, verbs as jobs, watched by sensors.

Speaks REST to a worker and nothing else, so what it operates may as well be a Java cluster.
"""

from connect_dagster.orchestration.client import KafkaConnectClient, KafkaConnectError, RetryPolicy
from connect_dagster.orchestration.connector_jobs import build_kafka_connect_jobs
from connect_dagster.orchestration.keepalive_sensor import BackOff, build_connect_worker_keepalive_sensor
from connect_dagster.orchestration.lineage import build_connector_asset_specs
from connect_dagster.orchestration.status_sensor import build_connector_status_sensor
from connect_dagster.orchestration.worker_job import build_connect_worker_job, build_worker_asset_spec
from connect_dagster.orchestration.worker_resource import ConnectWorkerResource
from connect_dagster.orchestration.workspace import KafkaConnectWorkspace

__all__ = [
    "BackOff",
    "ConnectWorkerResource",
    "KafkaConnectClient",
    "KafkaConnectError",
    "KafkaConnectWorkspace",
    "RetryPolicy",
    "build_connect_worker_job",
    "build_connect_worker_keepalive_sensor",
    "build_connector_asset_specs",
    "build_connector_status_sensor",
    "build_kafka_connect_jobs",
    "build_worker_asset_spec",
]
