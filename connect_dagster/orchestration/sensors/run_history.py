"""Runs that a sensor launched: the unfinished one, and the number of the next.

Dagster runs a key once, ever, and drops it silently when it comes again. So keys count, and the count is taken from
the runs as well as from the cursor: a cursor that was reset must not bring back old keys.
"""

from collections.abc import Mapping

from dagster import DagsterInstance, DagsterRunStatus, RunsFilter

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

# An operation takes minutes. The process of an older unfinished run is gone, and Dagster does not notice.
OVERDUE_SECONDS = 900.0


class RunHistory:
    """The newest runs with a sensor's tags, queried once.

    Args:
        instance: Where the runs are.
        tags: Their tags, except the number.
        now: Epoch seconds.
    """

    def __init__(self, instance: DagsterInstance, tags: Mapping[str, str], now: float) -> None:
        self._tags = dict(tags)
        self._now = now
        runs = instance.get_run_records(RunsFilter(tags=self._tags), limit=REMEMBERED_RUNS)
        self._newest = runs[0] if runs else None
        # Not the newest one's: a run that is executed again has the number of the first time.
        self._last_number = max((int(run.dagster_run.tags.get(ATTEMPT_TAG, 0)) for run in runs), default=0)

    @property
    def under_way(self) -> str | None:
        """Short id of the newest run, if it is neither finished nor overdue."""
        if self._newest is None or self._newest.dagster_run.status not in UNFINISHED:
            return None
        is_overdue = self._now - self._newest.create_timestamp.timestamp() > OVERDUE_SECONDS
        return None if is_overdue else self._newest.dagster_run.run_id[:8]

    def next_number(self, remembered: int) -> int:
        """Return the number of the next run, given the last number in the cursor."""
        return max(remembered, self._last_number) + 1

    def tags(self, number: int) -> dict[str, str]:
        """Return the tags of the run with this number."""
        return {**self._tags, ATTEMPT_TAG: str(number)}
