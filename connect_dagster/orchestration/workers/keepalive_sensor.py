"""The sensor that keeps workers alive: it launches their job, and launches it again when a run failed.

Its switch in the UI is the workers' switch. Each tick reads the newest runs of each worker and calls its REST API
once. Of a process without a REST API, as MirrorMaker's, it reads what its run has observed:

1. The run is unfinished and REST responds: do nothing, unless the worker was started with another configuration
   than its current one. Then terminate its run, one worker at a time, and only while REST of all others responds
   that no user has stopped.
2. The run is unfinished, but REST does not respond and the process does not exist, or its last observation is too old:
   the run is dead. Mark it as failed, and launch another unless it was being terminated.
3. The run has seen its worker respond, and its process lives, but REST has sent nothing for too long, to several
   requests, nor to the run when it last reported: terminate the run, one worker at a time, so that another is launched.
   The run is beside the worker, and the network between worker and sensor may be cut. A worker that starts is not
   counted: its run waits for it, within a bound.
4. The newest run was CANCELED, and not by this sensor: a user stopped the worker. It stays down until a user launches
   the job. A run that was refused, as another process was in the place of its worker, does not count.
5. The newest run failed, or was terminated for its silence: wait, twice as long after each such run in a row.
6. Otherwise launch a run. Run keys name the configuration and count attempts, and are never used twice, as Dagster
   drops a known key silently.
"""

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass

import dagster as dg
from dagster import (
    AssetObservation,
    AssetRecordsFilter,
    DagsterInstance,
    DagsterRun,
    DagsterRunStatus,
    EventLogRecord,
    MetadataValue,
    RunRecord,
    RunsFilter,
)
from pydantic import BaseModel, ConfigDict, Field

from connect_dagster.orchestration.assets.keys import worker_key
from connect_dagster.orchestration.sensors.attempts import BackOff
from connect_dagster.orchestration.sensors.cursor import SensorCursor
from connect_dagster.orchestration.sensors.run_history import ATTEMPT_TAG, REMEMBERED_RUNS, UNFINISHED
from connect_dagster.orchestration.workers.job import (
    GENERATION_TAG,
    PROCESS_TAG,
    REFUSED_TAG,
    WORKER_ID_TAG,
    run_config,
)
from connect_dagster.orchestration.workers.resource import HostedProcess
from connect_dagster.orchestration.workers.run_process import RunProcess

REPLACED_TAG = "connect-dagster/replaced_by_generation"
UNRESPONSIVE_TAG = "connect-dagster/unresponsive"
OBSERVATIONS = 10
# However long they took: a machine that was suspended, or a sensor that was off, makes few of them.
MIN_REQUESTS = 5
# Times the timeout, a report of the run counts: reports are 300 s apart, and each takes time as well.
REPORTS_COUNT = 1.5


class Silence(BaseModel):
    """Requests in a row that got no response of a worker's REST API.

    Attributes:
        run_id: The worker's run.
        requests: Their number, one each tick.
        since: Time of the first one, in epoch seconds.
        last_at: Time of the last one, in epoch seconds.
    """

    model_config = ConfigDict(frozen=True)

    run_id: str
    requests: int
    since: float
    last_at: float

    def is_over(self, timeout: float) -> bool:
        """Return whether it has lasted for ``timeout`` seconds and enough requests."""
        return self.requests >= MIN_REQUESTS and self.last_at - self.since >= timeout


class KeepaliveCursor(SensorCursor):
    """Cursor of the sensor.

    Attributes:
        attempts: Number of the last attempt by worker, in case the runs with these numbers are deleted.
        silences: Silence by worker, of those that do not respond.
    """

    attempts: dict[str, int] = Field(default={})
    silences: dict[str, Silence] = Field(default={})


def build_connect_worker_keepalive_sensor(
    *,
    job: dg.JobDefinition,
    workers: Mapping[str, HostedProcess],
    heartbeat_timeout: float = 900.0,
    rest_timeout: float = 300.0,
    back_off: BackOff | None = None,
    minimum_interval_seconds: int = 10,
) -> dg.SensorDefinition:
    """Create the sensor ``connect_worker__keepalive_sensor``, named after the job.

    Workers are independent: one that was terminated in the UI stays down while the others are kept alive.

    Args:
        job (JobDefinition): The workers' job, see :func:`build_connect_worker_job`.
        workers (Mapping[str, HostedProcess]): The workers to keep alive, by their names in Dagster.
        heartbeat_timeout (float): Seconds without an observation after which a run whose REST is dead, or whose process
            has no REST API, counts as dead, where it cannot be seen whether its process is gone. Defaults to 900.
        rest_timeout (float): Seconds without any response of a worker's REST API, an error included, after which its
            run is terminated and launched again though its process lives. Defaults to 300. A response to the
            run itself, which reports every 300 s, counts for 1.5 times as long.
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
        events: list[AssetObservation] = []
        observations = [
            WorkerObservation(
                context.instance, worker_id, answer, heartbeat_timeout, waits, cursor.silences.get(worker_id)
            )
            for worker_id, answer in _probe(workers).items()
        ]
        silences = {one.worker_id: silence for one in observations if (silence := one.silence(now, rest_timeout))}
        cursor.silences = silences
        for observation in observations:
            if reason := observation.reason_to_skip(now, silences.get(observation.worker_id)):
                reasons.append(f"{observation.worker_id}: {reason}")
                continue
            attempt = max(cursor.attempts.get(observation.worker_id, 0), observation.last_attempt()) + 1
            cursor.attempts[observation.worker_id] = attempt
            requests.append(_request(job.name, observation, attempt))
        if all(observation.alive or observation.is_stopped for observation in observations):
            reasons += [observation.replace() for observation in observations if observation.is_outdated][:1]
        if not requests and (silent := _silent_too_long(observations, silences, rest_timeout, now)):
            # Counted again: a run that cannot be terminated is not tried in each tick.
            reason, event = silent.end_silence(silences.pop(silent.worker_id))
            context.log.error(reason)
            reasons.append(reason)
            events.append(event)
        # Dagster takes reasons or requests, not both.
        message = None if requests else "; ".join(reasons)
        return dg.SensorResult(requests, skip_reason=message, cursor=cursor.model_dump_json(), asset_events=events)

    return connect_worker_keepalive_sensor


@dataclass(frozen=True, slots=True)
class WorkerProbe:
    """Response of a worker, and the hash of its configuration.

    Attributes:
        alive: Whether its REST API works; None when it has none, so that its run reports.
        responds: Whether it sends anything, also an error.
        generation: The hash.
    """

    alive: bool | None
    responds: bool
    generation: str


def _probe(workers: Mapping[str, HostedProcess]) -> dict[str, WorkerProbe]:
    """Send requests to all workers at once: each worker may take seven seconds to time out."""
    with ExitStack() as stack, ThreadPoolExecutor(max_workers=len(workers)) as pool:
        ready = [stack.enter_context(worker.process_config_and_initialize_cm()) for worker in workers.values()]
        return dict(zip(workers, pool.map(_probe_one, ready), strict=True))


def _probe_one(worker: HostedProcess) -> WorkerProbe:
    alive = worker.is_alive()
    return WorkerProbe(alive, alive or worker.responds(), worker.generation)


def _silent_too_long(
    observations: Sequence["WorkerObservation"], silences: Mapping[str, Silence], timeout: float, now: float
) -> "WorkerObservation | None":
    """Return a worker whose silence is over; None without one, and while another worker starts or ends."""
    over = {worker_id for worker_id, silence in silences.items() if silence.is_over(timeout)}
    report_since = now - REPORTS_COUNT * timeout
    silent = (one for one in observations if one.worker_id in over and not one.responded_to_run(report_since))
    first = next(silent, None)
    return None if first is None or any(one.is_in_transition for one in observations) else first


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
        former_silence: Its silence up to the former tick; None without one.
    """

    def __init__(
        self,
        instance: DagsterInstance,
        worker_id: str,
        probe: WorkerProbe,
        heartbeat_timeout: float,
        back_off: BackOff,
        former_silence: Silence | None = None,
    ) -> None:
        self.worker_id = worker_id
        self.generation = probe.generation
        self._responds = probe.responds
        self._former_silence = former_silence
        self._instance = instance
        self._heartbeat_timeout = heartbeat_timeout
        self._back_off = back_off
        self._runs = instance.get_run_records(RunsFilter(tags={WORKER_ID_TAG: worker_id}), limit=REMEMBERED_RUNS)
        # One that was refused beside it is newer, and says nothing of the worker.
        self._hosting = [run for run in self._runs if REFUSED_TAG not in run.dagster_run.tags]
        self.alive = self._run_lives(time.time()) if probe.alive is None else probe.alive

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
        ended_by_sensor = run is not None and not {REPLACED_TAG, UNRESPONSIVE_TAG}.isdisjoint(run.tags)
        return run is not None and run.status is DagsterRunStatus.CANCELED and not ended_by_sensor

    @property
    def is_in_transition(self) -> bool:
        """Return True if its newest run starts or ends: it is unfinished, and has not observed a running worker."""
        run = self._newest()
        return run is not None and run.status in UNFINISHED and not self._has_begun(run)

    def silence(self, now: float, longest_gap: float) -> Silence | None:
        """Return its silence up to ``now`` (epoch seconds); None when it responds, or does not run yet.

        The count starts again when the sensor sent no request for ``longest_gap`` seconds.
        """
        run, before = self._newest(), self._former_silence
        if self._responds or run is None or not self._has_begun(run):
            return None
        same = before is not None and before.run_id == run.run_id and now - before.last_at <= longest_gap
        if before is None or not same:
            return Silence(run_id=run.run_id, requests=1, since=now, last_at=now)
        return before.model_copy(update={"requests": before.requests + 1, "last_at": now})

    def responded_to_run(self, since: float) -> bool:
        """Return whether its run saw a response when it last reported, if that was after ``since`` (epoch seconds)."""
        run = self._newest()
        newest = next(iter(self._observations_by(run)), None) if run else None
        if newest is None or newest.asset_observation is None or newest.timestamp < since:
            return False
        answering = newest.asset_observation.metadata.get("rest_answering")
        return answering is not None and answering.value == 1

    def replace(self) -> str:
        """Terminate its run, so that a later tick launches another; return a message."""
        return self._terminate({REPLACED_TAG: self.generation}, "the worker's configuration has changed")

    def end_silence(self, silence: Silence) -> tuple[str, AssetObservation]:
        """Terminate its run, so that a later tick launches another; return a message, and an event with it."""
        seconds = silence.last_at - silence.since
        why = f"its REST API has not responded to {silence.requests} requests in {seconds:.0f} s"
        message = self._terminate({UNRESPONSIVE_TAG: f"{seconds:.0f}"}, why)
        event = AssetObservation(
            worker_key(self.worker_id),
            description=message,
            metadata={"reason": message, "run": MetadataValue.dagster_run(silence.run_id)},
        )
        return message, event

    def _terminate(self, tags: Mapping[str, str], why: str) -> str:
        run = self._newest()
        assert run is not None  # it runs
        message = f"{self.worker_id}: run {run.run_id[:8]} is terminated, as {why}"
        self._instance.add_run_tags(run.run_id, dict(tags))
        self._instance.report_engine_event(message, run)
        try:
            self._instance.run_coordinator.cancel_run(run.run_id)
        except dg.DagsterError as error:  # the code server that launched it may be gone
            return f"{message}, but cannot be: {error}"
        return message

    def last_attempt(self) -> int:
        """Return the highest attempt number of the runs; 0 without any."""
        return max((int(run.dagster_run.tags.get(ATTEMPT_TAG, 0)) for run in self._runs), default=0)

    def reason_to_skip(self, now: float, silence: Silence | None = None) -> str | None:
        """Return the reason not to launch a run, or None. Ends the run of a dead process.

        Args:
            now: Epoch seconds.
            silence: Its silence up to now; None without one.
        """
        for run in self._runs:
            if run.dagster_run.status in UNFINISHED and (reason := self._reason_of_unfinished(run, now, silence)):
                return reason
        if self.alive:
            return "A worker that Dagster did not launch responds at the address"
        if self.is_stopped:
            return f"Stopped by a user; launch the job {self._runs[0].dagster_run.job_name} to start it again"
        return self._reason_of_back_off(now)

    def _run_lives(self, now: float) -> bool:
        """Return whether its newest unfinished run has observed it, and lives itself."""
        newest = next((run for run in self._runs if run.dagster_run.status in UNFINISHED), None)
        if newest is None or not self._has_begun(newest.dagster_run):
            return False
        process = RunProcess.read(newest.dagster_run.tags.get(PROCESS_TAG))
        # A run whose process is seen lives, however rarely it reports: brokers that are away take their time.
        return (process is not None and process.is_running()) or self._death(newest, now) is None

    def _newest(self) -> DagsterRun | None:
        return self._hosting[0].dagster_run if self._hosting else None

    def _reason_of_unfinished(self, run: RunRecord, now: float, silence: Silence | None) -> str | None:
        short_id, status = run.dagster_run.run_id[:8], run.dagster_run.status
        if self.alive:
            return f"Alive in run {short_id}"
        if (death := self._death(run, now)) is None:
            missed = f"did not respond to {silence.requests} requests" if silence else "does not respond yet"
            return f"Run {short_id} is {status.value} and its worker {missed}"
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
        silence = now - max([run.start_time or 0.0, *(one.timestamp for one in self._observations_by(run.dagster_run))])
        is_under_way = run.dagster_run.status in (DagsterRunStatus.STARTED, DagsterRunStatus.CANCELING)
        if not is_under_way or silence < self._heartbeat_timeout:
            return None
        return f"The worker does not respond and was last observed {silence:.0f} s ago: its process is gone"

    def _has_begun(self, run: DagsterRun) -> bool:
        """Return whether a STARTED run has observed its worker, which it does once the worker has started."""
        return run.status is DagsterRunStatus.STARTED and bool(self._observations_by(run))

    def _observations_by(self, run: DagsterRun) -> list[EventLogRecord]:
        # Observations of others, as of sensors, do not show that it lives.
        asset = AssetRecordsFilter(worker_key(self.worker_id))
        found = self._instance.fetch_observations(asset, limit=OBSERVATIONS).records
        return [record for record in found if record.run_id == run.run_id]

    def _reason_of_back_off(self, now: float) -> str | None:
        if not self._runs:
            return None
        failures = failures_in_a_row(self._runs, self._back_off.settled)
        newest = (*self._runs[:1], *self._hosting[:1])
        due = max(run.end_time or 0.0 for run in newest) + self._back_off.delay(failures)
        return f"Waiting {due - now:.0f} s after a failure" if due > now else None


def failures_in_a_row(runs: Sequence[RunRecord], settled: float) -> int:
    """Return the number of newest ``runs`` (newest first) that failed, up to one that lasted ``settled`` seconds."""
    count = 0
    for run in runs:
        failed = run.dagster_run.status is DagsterRunStatus.FAILURE
        if not failed and UNRESPONSIVE_TAG not in run.dagster_run.tags:
            break
        count += 1
        if (run.end_time or 0.0) - (run.start_time or 0.0) >= settled:
            break
    return count
