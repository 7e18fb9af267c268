"""The sensor that keeps a worker alive: it launches the worker's job, and again when a life ended badly.

Its switch in the UI is the worker's switch. Each tick looks at the newest runs and asks REST once:

1. A run that is not over, and REST answers: nothing to do.
2. A run that says STARTED, but REST is dead and no observation came for long: a zombie of a crash; it is
   marked failed, and the worker gets a new life.
3. The newest run was CANCELED: somebody wants the worker down. Launching the job by hand ends that.
4. The newest run failed: wait, twice as long after each failure in a row.
5. Otherwise a new run. Run keys count attempts and are never used twice, as Dagster drops a known key
   silently.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import dagster as dg
from dagster import AssetRecordsFilter, DagsterInstance, DagsterRunStatus, RunRecord, RunsFilter
from pydantic import BaseModel, ValidationError

from connect_dagster.orchestration.asset_keys import worker_key
from connect_dagster.orchestration.worker_job import WORKER_ID_TAG
from connect_dagster.orchestration.worker_resource import ConnectWorkerResource

ATTEMPT_TAG = "connect-dagster/attempt"
REMEMBERED_RUNS = 25

UNFINISHED = frozenset(
    {
        DagsterRunStatus.QUEUED,
        DagsterRunStatus.NOT_STARTED,
        DagsterRunStatus.MANAGED,
        DagsterRunStatus.STARTING,
        DagsterRunStatus.STARTED,
        DagsterRunStatus.CANCELING,
    }
)


@dataclass(frozen=True, slots=True)
class BackOff:
    """Waiting time before a new life, in seconds: ``base`` doubled with each failure in a row, up to ``cap``.

    A life that lasted ``settled`` seconds was a good one, and the count starts anew after it.
    """

    base: float = 5.0
    cap: float = 300.0
    settled: float = 600.0

    def wait(self, runs: Sequence[RunRecord]) -> float:
        """Waiting time from the end of the newest of ``runs`` (newest first)."""
        failures = self._failures_in_a_row(runs)
        return min(self.cap, self.base * 2 ** (failures - 1)) if failures else 0.0

    def _failures_in_a_row(self, runs: Sequence[RunRecord]) -> int:
        count = 0
        for run in runs:
            if run.dagster_run.status is not DagsterRunStatus.FAILURE:
                break
            count += 1
            if (run.end_time or 0.0) - (run.start_time or 0.0) >= self.settled:
                break
        return count


class KeepaliveCursor(BaseModel):
    """Number of the last attempt this sensor asked for, in case the runs that carry it are deleted."""

    attempt: int = 0

    @classmethod
    def read(cls, text: str | None) -> "KeepaliveCursor":
        """The cursor a tick left; a fresh one when there is none, or none that can be read."""
        try:
            return cls.model_validate_json(text) if text else cls()
        except ValidationError:
            return cls()


def build_connect_worker_keepalive_sensor(
    *,
    job: dg.JobDefinition,
    worker_id: str = "standalone",
    heartbeat_timeout: float = 300.0,
    back_off: BackOff | None = None,
    minimum_interval_seconds: int = 10,
) -> dg.SensorDefinition:
    """Creates the sensor ``connect_worker__keepalive_sensor``.

    Needs a resource ``connect_worker`` (:class:`ConnectWorkerResource`).

    Args:
        job (JobDefinition): The worker's job, see :func:`build_connect_worker_job`.
        worker_id (str): Name of the worker in Dagster.
        heartbeat_timeout (float): Seconds without an observation after which a run whose REST is dead counts
            as dead.
        back_off (BackOff): Waiting times after failures. Defaults to 5 s, doubled up to 5 min.
        minimum_interval_seconds (int): Seconds between two looks. Defaults to 10.
    """
    waits = back_off or BackOff()

    @dg.sensor(
        name="connect_worker__keepalive_sensor",
        job=job,
        minimum_interval_seconds=minimum_interval_seconds,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Keeps the Connect worker running; its switch is the worker's switch.",
    )
    def connect_worker_keepalive_sensor(
        context: dg.SensorEvaluationContext, connect_worker: ConnectWorkerResource
    ) -> dg.SensorResult | dg.SkipReason:
        look = WorkerLook(context.instance, worker_id, connect_worker.is_alive, heartbeat_timeout, waits)
        if reason := look.reason_to_skip(time.time()):
            return dg.SkipReason(reason)
        attempt = max(KeepaliveCursor.read(context.cursor).attempt, look.last_attempt()) + 1
        request = dg.RunRequest(f"{worker_id}:{attempt}", tags={WORKER_ID_TAG: worker_id, ATTEMPT_TAG: str(attempt)})
        return dg.SensorResult([request], cursor=KeepaliveCursor(attempt=attempt).model_dump_json())

    return connect_worker_keepalive_sensor


class WorkerLook:
    """One look at a worker: its newest runs, newest first, and whether it answers."""

    def __init__(
        self,
        instance: DagsterInstance,
        worker_id: str,
        is_alive: Callable[[], bool],
        heartbeat_timeout: float,
        back_off: BackOff,
    ) -> None:
        self._instance = instance
        self._worker_id = worker_id
        self._alive = is_alive()
        self._heartbeat_timeout = heartbeat_timeout
        self._back_off = back_off
        self._runs = instance.get_run_records(RunsFilter(tags={WORKER_ID_TAG: worker_id}), limit=REMEMBERED_RUNS)

    def last_attempt(self) -> int:
        """Highest attempt number the runs carry; 0 without any."""
        return max((int(run.dagster_run.tags.get(ATTEMPT_TAG, 0)) for run in self._runs), default=0)

    def reason_to_skip(self, now: float) -> str | None:
        """Why no new life is due at ``now`` (epoch seconds), or None. Marks a zombie run as failed."""
        unfinished = [run for run in self._runs if run.dagster_run.status in UNFINISHED]
        if unfinished:
            return self._reason_of_unfinished(unfinished[0], now)
        if self._alive:
            return "A worker that Dagster did not launch answers at the address"
        if self._runs and self._runs[0].dagster_run.status is DagsterRunStatus.CANCELED:
            return "Stopped by a user; launch the job connect_worker to start it again"
        return self._reason_of_back_off(now)

    def _reason_of_unfinished(self, run: RunRecord, now: float) -> str | None:
        short_id = run.dagster_run.run_id[:8]
        if self._alive:
            return f"Alive in run {short_id}"
        silence = now - self._last_sign_of_life(run)
        if run.dagster_run.status is not DagsterRunStatus.STARTED or silence < self._heartbeat_timeout:
            return f"Run {short_id} is {run.dagster_run.status.value} and its worker does not answer yet"
        message = f"The worker does not answer and was last observed {silence:.0f} s ago: its process is gone"
        self._instance.report_run_failed(run.dagster_run, message)
        return None

    def _last_sign_of_life(self, run: RunRecord) -> float:
        observed = self._instance.fetch_observations(AssetRecordsFilter(worker_key(self._worker_id)), limit=1).records
        return max([run.start_time or 0.0, *(record.timestamp for record in observed)])

    def _reason_of_back_off(self, now: float) -> str | None:
        if not self._runs:
            return None
        due = (self._runs[0].end_time or 0.0) + self._back_off.wait(self._runs)
        return f"Waiting {due - now:.0f} s after a failure" if due > now else None
