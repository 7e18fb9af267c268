"""The sensor that keeps workers alive: it launches their job, and launches it again when a run failed.

Its switch in the UI is the workers' switch. Each tick reads the newest runs of each worker and calls its REST API
once:

1. The run is unfinished and REST responds: do nothing, unless the worker was started with another configuration
   than its current one. Then terminate its run, one worker at a time, and only while REST of all others responds
   that no user has stopped.
2. The run is unfinished, but REST does not respond and the process does not exist, or its last observation is too old:
   the run is dead. Mark it as failed, and launch another unless it was being terminated.
3. The newest run was CANCELED, and not by this sensor: a user stopped the worker. It stays down until a user launches
   the job.
4. The newest run failed: wait, twice as long after each failure in a row.
5. Otherwise launch a run. Run keys name the configuration and count attempts, and are never used twice, as Dagster
   drops a known key silently.
"""

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass

import dagster as dg
from dagster import AssetRecordsFilter, DagsterInstance, DagsterRun, DagsterRunStatus, RunRecord, RunsFilter
from pydantic import Field

from connect_dagster.orchestration.assets.keys import worker_key
from connect_dagster.orchestration.sensors.attempts import BackOff
from connect_dagster.orchestration.sensors.cursor import SensorCursor
from connect_dagster.orchestration.sensors.run_history import ATTEMPT_TAG, REMEMBERED_RUNS, UNFINISHED
from connect_dagster.orchestration.workers.job import GENERATION_TAG, PROCESS_TAG, WORKER_ID_TAG, run_config
from connect_dagster.orchestration.workers.resource import HostedWorker
from connect_dagster.orchestration.workers.run_process import RunProcess

REPLACED_TAG = "connect-dagster/replaced_by_generation"


class KeepaliveCursor(SensorCursor):
    """Number of the last attempt by worker, in case the runs with these numbers are deleted."""

    attempts: dict[str, int] = Field(default={})


def build_connect_worker_keepalive_sensor(
    *,
    job: dg.JobDefinition,
    workers: Mapping[str, HostedWorker],
    heartbeat_timeout: float = 900.0,
    back_off: BackOff | None = None,
    minimum_interval_seconds: int = 10,
) -> dg.SensorDefinition:
    """Create the sensor ``connect_worker__keepalive_sensor``, named after the job.

    Workers are independent: one that was terminated in the UI stays down while the others are kept alive.

    Args:
        job (JobDefinition): The workers' job, see :func:`build_connect_worker_job`.
        workers (Mapping[str, HostedWorker]): The workers to keep alive, by their names in Dagster.
        heartbeat_timeout (float): Seconds without an observation after which a run whose REST is dead counts
            as dead, where it cannot be seen whether its process is gone. Defaults to 900.
        back_off (Optional[BackOff]): Delays after failures. Defaults to 5 s, doubled up to 5 min.
        minimum_interval_seconds (int): Seconds between two observations. Defaults to 10.

    Returns:
        SensorDefinition: The sensor; it runs unless it is switched off.

    Examples:
        .. code-block:: python

            from connect_dagster.orchestration import (
                KafkaConnectWorkspace,
                StandaloneConnectWorkerResource,
                build_connect_worker_job,
                build_connect_worker_keepalive_sensor,
            )

            workers = {
                "standalone": StandaloneConnectWorkerResource(
                    workspace=KafkaConnectWorkspace(), worker_properties="connect-standalone.properties"
                )
            }
            sensor = build_connect_worker_keepalive_sensor(
                job=build_connect_worker_job(workers=workers), workers=workers
            )
    """
    waits = back_off or BackOff()

    @dg.sensor(
        name=f"{job.name}__keepalive_sensor",
        job=job,
        minimum_interval_seconds=minimum_interval_seconds,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Keeps Connect workers running; its switch is the workers' switch.",
    )
    def connect_worker_keepalive_sensor(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        now, cursor = time.time(), KeepaliveCursor.read(context.cursor)
        requests: list[dg.RunRequest] = []
        reasons: list[str] = []
        observations = [
            WorkerObservation(context.instance, worker_id, answer, heartbeat_timeout, waits)
            for worker_id, answer in _probe(workers).items()
        ]
        for observation in observations:
            if reason := observation.reason_to_skip(now):
                reasons.append(f"{observation.worker_id}: {reason}")
                continue
            attempt = max(cursor.attempts.get(observation.worker_id, 0), observation.last_attempt()) + 1
            cursor.attempts[observation.worker_id] = attempt
            requests.append(_request(job.name, observation, attempt))
        if all(observation.alive or observation.is_stopped for observation in observations):
            reasons += [observation.replace() for observation in observations if observation.is_outdated][:1]
        # Dagster takes reasons or requests, not both.
        message = None if requests else "; ".join(reasons)
        return dg.SensorResult(requests, skip_reason=message, cursor=cursor.model_dump_json())

    return connect_worker_keepalive_sensor


@dataclass(frozen=True, slots=True)
class WorkerProbe:
    """Result of one REST request to a worker, and the hash of its configuration."""

    alive: bool
    generation: str


def _probe(workers: Mapping[str, HostedWorker]) -> dict[str, WorkerProbe]:
    """Send a request to all workers at once: each of them may take two seconds to time out."""
    with ExitStack() as stack, ThreadPoolExecutor(max_workers=len(workers)) as pool:
        ready = [stack.enter_context(worker.process_config_and_initialize_cm()) for worker in workers.values()]
        alive = pool.map(HostedWorker.is_alive, ready)
        return {
            worker_id: WorkerProbe(answers, worker.generation)
            for worker_id, worker, answers in zip(workers, ready, alive, strict=True)
        }


def _request(job_name: str, observation: "WorkerObservation", attempt: int) -> dg.RunRequest:
    worker_id, generation = observation.worker_id, observation.generation
    tags = {WORKER_ID_TAG: worker_id, GENERATION_TAG: generation, ATTEMPT_TAG: str(attempt)}
    key = f"{worker_id}:{generation}:{attempt}"
    return dg.RunRequest(key, run_config=run_config(job_name, worker_id), tags=tags)


class WorkerObservation:
    """One observation of a worker: its newest runs, newest first, its response, and its configuration.

    Args:
        instance: Where its runs and observations are.
        worker_id: Its name in Dagster.
        probe: Its response, and the hash of its configuration.
        heartbeat_timeout: Seconds of silence after which a run whose process cannot be seen counts as dead.
        back_off: Delays after failures.
    """

    def __init__(
        self, instance: DagsterInstance, worker_id: str, probe: WorkerProbe, heartbeat_timeout: float, back_off: BackOff
    ) -> None:
        self.worker_id = worker_id
        self.alive = probe.alive
        self.generation = probe.generation
        self._instance = instance
        self._heartbeat_timeout = heartbeat_timeout
        self._back_off = back_off
        self._runs = instance.get_run_records(RunsFilter(tags={WORKER_ID_TAG: worker_id}), limit=REMEMBERED_RUNS)

    @property
    def is_outdated(self) -> bool:
        """Return True if its run started it with another configuration than its current one."""
        run = self._newest()
        if run is None or run.status is not DagsterRunStatus.STARTED:
            return False
        return run.tags.get(GENERATION_TAG, self.generation) != self.generation

    @property
    def is_stopped(self) -> bool:
        """Return True if a user, not this sensor, terminated its newest run."""
        run = self._newest()
        return run is not None and run.status is DagsterRunStatus.CANCELED and REPLACED_TAG not in run.tags

    def replace(self) -> str:
        """Terminate its run, so that a later tick launches another; return a message."""
        run = self._newest()
        assert run is not None  # it is outdated
        self._instance.add_run_tags(run.run_id, {REPLACED_TAG: self.generation})
        self._instance.run_coordinator.cancel_run(run.run_id)
        return f"{self.worker_id}: run {run.run_id[:8]} is terminated, as the worker's configuration has changed"

    def last_attempt(self) -> int:
        """Return the highest attempt number of the runs; 0 without any."""
        return max((int(run.dagster_run.tags.get(ATTEMPT_TAG, 0)) for run in self._runs), default=0)

    def reason_to_skip(self, now: float) -> str | None:
        """Return the reason not to launch a run at ``now`` (epoch seconds), or None. Ends the run of a dead process."""
        for run in self._runs:
            if run.dagster_run.status in UNFINISHED and (reason := self._reason_of_unfinished(run, now)):
                return reason
        if self.alive:
            return "A worker that Dagster did not launch responds at the address"
        if self.is_stopped:
            return f"Stopped by a user; launch the job {self._runs[0].dagster_run.job_name} to start it again"
        return self._reason_of_back_off(now)

    def _newest(self) -> DagsterRun | None:
        return self._runs[0].dagster_run if self._runs else None

    def _reason_of_unfinished(self, run: RunRecord, now: float) -> str | None:
        short_id, status = run.dagster_run.run_id[:8], run.dagster_run.status
        if self.alive:
            return f"Alive in run {short_id}"
        if (death := self._death(run, now)) is None:
            return f"Run {short_id} is {status.value} and its worker does not respond yet"
        if status is DagsterRunStatus.CANCELING:
            self._instance.report_run_canceled(run.dagster_run, death)
            return f"Run {short_id} was being terminated: {death}"
        self._instance.report_run_failed(run.dagster_run, death)
        return None

    def _death(self, run: RunRecord, now: float) -> str | None:
        """Return the reason why an unfinished run is dead; None while it may live."""
        process = RunProcess.read(run.dagster_run.tags.get(PROCESS_TAG))
        if process is not None and process.is_gone():
            return f"The worker does not respond, and process {process.pid} of the run is gone"
        silence = now - self._last_sign_of_life(run)
        has_begun = run.dagster_run.status in (DagsterRunStatus.STARTED, DagsterRunStatus.CANCELING)
        if not has_begun or silence < self._heartbeat_timeout:
            return None
        return f"The worker does not respond and was last observed {silence:.0f} s ago: its process is gone"

    def _last_sign_of_life(self, run: RunRecord) -> float:
        observed = self._instance.fetch_observations(AssetRecordsFilter(worker_key(self.worker_id)), limit=1).records
        return max([run.start_time or 0.0, *(record.timestamp for record in observed)])

    def _reason_of_back_off(self, now: float) -> str | None:
        if not self._runs:
            return None
        failures = failures_in_a_row(self._runs, self._back_off.settled)
        due = (self._runs[0].end_time or 0.0) + self._back_off.delay(failures)
        return f"Waiting {due - now:.0f} s after a failure" if due > now else None


def failures_in_a_row(runs: Sequence[RunRecord], settled: float) -> int:
    """Return the number of newest ``runs`` (newest first) that failed, up to one that lasted ``settled`` seconds."""
    count = 0
    for run in runs:
        if run.dagster_run.status is not DagsterRunStatus.FAILURE:
            break
        count += 1
        if (run.end_time or 0.0) - (run.start_time or 0.0) >= settled:
            break
    return count
