"""The job that hosts a worker: one run is one life of the worker.

Its op supervises the worker, reports it as observations of the worker's asset, and drains it when the run is
terminated. The run's end tells why: CANCELED when a user stopped it, FAILURE when the worker died or the run
was interrupted otherwise. There is no retry policy and no run retry: the keep-alive sensor decides on the
next life.
"""

from collections.abc import Mapping
from typing import Any

import dagster as dg
from dagster import AssetObservation, AssetSpec, MetadataValue
from pydantic import Field

from connect_dagster.orchestration.asset_keys import worker_key
from connect_dagster.orchestration.client import KafkaConnectClient, KafkaConnectError
from connect_dagster.orchestration.interrupts import uninterrupted
from connect_dagster.orchestration.lineage import GROUP_NAME
from connect_dagster.orchestration.records import State
from connect_dagster.orchestration.worker_process import WorkerProcess
from connect_dagster.orchestration.worker_resource import (
    ANSWER_TIMEOUT,
    ConnectWorkerResource,
    worker_failure,
)

WORKER_JOB = "connect_worker"
WORKER_ID_TAG = "connect-dagster/worker_id"


class ConnectWorkerConfig(dg.Config):
    """How a run hosts its worker; all times in seconds."""

    report_interval: float = Field(default=60.0, gt=0, description="Between two observations of the worker.")
    start_timeout: float = Field(default=120.0, gt=0, description="Until the worker's REST API has to answer.")
    stop_timeout: float = Field(default=30.0, gt=0, description="For the worker to drain; then it is killed.")


def build_connect_worker_job(*, worker_id: str = "standalone") -> dg.JobDefinition:
    """Creates the job ``connect_worker``, which runs a worker for as long as the run lasts.

    Needs a resource ``connect_worker`` (:class:`ConnectWorkerResource`).

    Args:
        worker_id (str): Name of the worker in Dagster; it tags the runs and ends the worker's asset key.
    """

    @dg.op(name="host_worker")
    def host_worker(
        context: dg.OpExecutionContext, config: ConnectWorkerConfig, connect_worker: ConnectWorkerResource
    ) -> None:
        """Runs the worker until it ends or the run is terminated."""
        worker = connect_worker.start(config.start_timeout)
        context.log.info(f"Worker {worker.pid} answers at {connect_worker.workspace.url} after {worker.uptime:.1f} s")
        client = connect_worker.workspace.get_client(timeout=ANSWER_TIMEOUT)
        try:
            _observe_while_alive(context, worker, client, worker_id, config.report_interval)
            raise worker_failure(worker, "The worker ended by itself")
        finally:
            with uninterrupted():
                worker.stop(config.stop_timeout)
                _report(context, worker_id, _ended(worker))

    @dg.job(
        name=WORKER_JOB,
        executor_def=dg.in_process_executor,
        tags={WORKER_ID_TAG: worker_id, "dagster/max_retries": "0"},
        description="Runs a Connect worker; Terminate stops it for good, launching the job starts it again.",
    )
    def connect_worker_job() -> None:
        host_worker()

    return connect_worker_job


def build_worker_asset_spec(worker_id: str = "standalone") -> AssetSpec:
    """The worker as an external asset, which carries the observations of the job's runs."""
    return AssetSpec(
        worker_key(worker_id),
        description="Connect worker: one process with one Spark session, run by the job `connect_worker`.",
        group_name=GROUP_NAME,
        kinds={"kafka", "spark", "python"},
    )


def _observe_while_alive(
    context: dg.OpExecutionContext,
    worker: WorkerProcess,
    client: KafkaConnectClient,
    worker_id: str,
    interval: float,
) -> None:
    while worker.is_alive():
        _report(context, worker_id, _running(worker, client))
        worker.wait(interval)


def _report(context: dg.OpExecutionContext, worker_id: str, metadata: Mapping[str, Any]) -> None:
    context.log_event(AssetObservation(worker_key(worker_id), metadata=metadata))
    # The event is stored; the copy the context keeps for the op's end would only grow.
    for _ in context.consume_events():
        pass


def _running(worker: WorkerProcess, client: KafkaConnectClient) -> dict[str, Any]:
    metadata: dict[str, Any] = {
        "pid": worker.pid,
        "rest_url": MetadataValue.url(client.url),
        "uptime_seconds": float(worker.uptime),
        "worker_running": 1,
    }
    try:
        return metadata | {"rest_answering": 1} | _told_by_rest(client)
    except KafkaConnectError as error:
        return metadata | {"rest_answering": 0, "rest_error": str(error)}


def _told_by_rest(client: KafkaConnectClient) -> dict[str, Any]:
    server = client.server_info()
    statuses = [connector.status for connector in client.connectors().values()]
    return {
        "version": server.version,
        "commit": server.commit,
        "kafka_cluster_id": server.kafka_cluster_id,
        "connector_count": len(statuses),
        "task_count": sum(len(status.tasks) for status in statuses),
        "tasks_failed": sum(status.tasks_in(State.FAILED) for status in statuses),
    }


def _ended(worker: WorkerProcess) -> dict[str, Any]:
    return {
        "pid": worker.pid,
        "uptime_seconds": float(worker.uptime),
        "worker_running": 0,
        "rest_answering": 0,
        "exit": worker.exit_description(),
    }
