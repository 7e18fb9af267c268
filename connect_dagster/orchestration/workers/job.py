"""The job that hosts workers: one run is one life of a worker.

Its op supervises the worker, reports it as observations of the worker's asset, and drains it when the run is
terminated. The status of the run shows the reason: CANCELED when a user stopped it, FAILURE when the worker died or
the run was interrupted otherwise. Neither the op nor the run is retried: the keep-alive sensor decides on the next run.
"""

from collections.abc import Mapping
from typing import Any

import dagster as dg
from dagster import AssetObservation, DagsterRunStatus, RunsFilter
from pydantic import Field

from connect_dagster.client.interrupts import uninterrupted
from connect_dagster.orchestration.assets.keys import worker_key
from connect_dagster.orchestration.workers.resource import HostedProcess, TakenPlaceError, worker_failure
from connect_dagster.orchestration.workers.run_process import RunProcess

WORKER_JOB = "connect_worker"
WORKER_ID_TAG = "connect-dagster/worker_id"
GENERATION_TAG = "connect-dagster/generation"
PROCESS_TAG = "connect-dagster/process"
REFUSED_TAG = "connect-dagster/refused"


class ConnectWorkerConfig(dg.Config):
    """Options of a run that hosts a worker; all times in seconds."""

    worker_id: str | None = Field(default=None, description="Which worker, by its name in Dagster; else the first.")
    report_interval: float = Field(
        default=300.0, gt=0, description="Between two observations of the worker; each adds 9 KB to the event log."
    )
    start_timeout: float = Field(default=120.0, gt=0, description="Until the worker has to have started.")
    stop_timeout: float = Field(default=30.0, gt=0, description="For the worker to drain; then it is killed.")


def build_connect_worker_job(*, workers: Mapping[str, HostedProcess], name: str = WORKER_JOB) -> dg.JobDefinition:
    """Create the job that runs a worker as long as its run lasts.

    Terminating the run stops the worker, which first delivers what is under way; launching the job starts it again.

    Args:
        workers (Mapping[str, HostedProcess]): The workers it can host, by their names in Dagster. The name tags the
            runs and ends the worker's asset key; the first one is hosted unless the run's config names another.
        name (str): The job's name. Defaults to ``connect_worker``.

    Returns:
        JobDefinition: The job.

    Examples:
        .. code-block:: python

            from connect_dagster.orchestration import (
                KafkaConnectWorkspace,
                StandaloneConnectWorkerResource,
                build_connect_worker_job,
            )

            worker = StandaloneConnectWorkerResource(
                workspace=KafkaConnectWorkspace(), worker_properties="connect-standalone.properties"
            )
            job = build_connect_worker_job(workers={"standalone": worker})
    """
    first = next(iter(workers))

    @dg.op(name=_op_name(name))
    def host_worker(context: dg.OpExecutionContext, config: ConnectWorkerConfig) -> None:
        """Runs the worker until it ends or the run is terminated."""
        worker_id = config.worker_id or first
        if worker_id not in workers:
            raise dg.Failure(f"The job has no worker {worker_id!r}; it has {', '.join(workers)}.")
        with workers[worker_id].process_config_and_initialize_cm() as resource:
            _tag(context, worker_id, resource.generation)
            try:
                if resource.is_alive() is None:
                    require_only_run(context.instance, context.run_id, worker_id)
                _Host(context, config, resource, worker_id).run()
            except TakenPlaceError:
                context.instance.add_run_tags(context.run_id, {REFUSED_TAG: "true"})
                raise

    # The tag of the first worker is right until the op knows better: runs launched by hand have no other.
    @dg.job(
        name=name,
        executor_def=dg.in_process_executor,
        config=run_config(name, first),
        tags={WORKER_ID_TAG: first, "dagster/max_retries": "0"},
        description="Hosts a process that runs connectors; Terminate stops it for good, launching the job starts it "
        "again.",
    )
    def connect_worker_job() -> None:
        host_worker()

    return connect_worker_job


def run_config(job_name: str, worker_id: str) -> dg.RunConfig:
    """Return the default config of a run that hosts a worker.

    Args:
        job_name: Of the workers' job.
        worker_id: The worker's name in Dagster.
    """
    return dg.RunConfig(ops={_op_name(job_name): ConnectWorkerConfig(worker_id=worker_id)})


def _op_name(job_name: str) -> str:
    """Return the name of the op, different for each job."""
    return f"{job_name}_op"


class _Host:
    """One life of a worker."""

    def __init__(
        self, context: dg.OpExecutionContext, config: ConnectWorkerConfig, resource: HostedProcess, worker_id: str
    ) -> None:
        self._context = context
        self._config = config
        self._resource = resource
        self._key = worker_key(worker_id)
        self._metadata = resource.report()

    def run(self) -> None:
        """Start the worker, observe it, and stop it in any case."""
        worker = self._resource.start(self._config.start_timeout)
        try:
            self._context.log.info(f"Worker {worker.pid} {self._resource.duty} after {worker.uptime:.1f} s")
            while worker.is_alive():
                self._report(self._metadata.running(worker))
                worker.wait(self._config.report_interval)
            raise worker_failure(worker, "The worker ended by itself")
        finally:
            with uninterrupted():
                worker.stop(self._config.stop_timeout)
                self._report(self._metadata.ended(worker))

    def _report(self, metadata: Mapping[str, Any]) -> None:
        self._context.log_event(AssetObservation(self._key, metadata=metadata))
        # The event is stored; the copy the context keeps for the op's end would only grow.
        for _ in self._context.consume_events():
            pass


def require_only_run(instance: dg.DagsterInstance, run_id: str, worker_id: str) -> None:
    """Raise TakenPlaceError when an earlier run hosts a process without a REST API, which only that run shows.

    Args:
        instance: Has the runs.
        run_id: The run that is to host it.
        worker_id: The worker's name in Dagster.
    """
    under_way = RunsFilter(
        tags={WORKER_ID_TAG: worker_id}, statuses=[DagsterRunStatus.STARTED, DagsterRunStatus.CANCELING]
    )
    started = {one.dagster_run.run_id: one for one in instance.get_run_records(under_way)}
    own = started.pop(run_id)
    for other, record in started.items():
        process = RunProcess.read(record.dagster_run.tags.get(PROCESS_TAG))
        is_earlier = (record.start_time or 0.0, other) < (own.start_time or 0.0, run_id)
        if is_earlier and not (process is not None and process.is_gone()):
            raise TakenPlaceError(f"Run {other[:8]} hosts {worker_id!r} already; terminate it first.")


def _tag(context: dg.OpExecutionContext, worker_id: str, generation: str) -> None:
    process = RunProcess.current()
    tags = {WORKER_ID_TAG: worker_id, GENERATION_TAG: generation} | ({PROCESS_TAG: process.text()} if process else {})
    context.instance.add_run_tags(context.run_id, tags)
