"""Evaluations of the checks of sinks by a sensor, from what it has polled anyway.

The event log is never pruned: an outcome that got worse is stored at once, any other one once in an interval.
"""

from collections.abc import Iterator, Mapping

from dagster import AssetCheckEvaluation, AssetCheckKey, AssetCheckSeverity, AssetKey, DagsterInstance
from pydantic import BaseModel, ConfigDict

from connect_dagster.client.types import Direction
from connect_dagster.orchestration.checks.connector_checks import CheckOutcome
from connect_dagster.orchestration.checks.dead_letters import DEAD_LETTER_CHECK, dead_letter_outcome, last_total
from connect_dagster.orchestration.checks.lag import LAG_CHECK, lag_outcome
from connect_dagster.orchestration.checks.sink_bounds import SinkBounds
from connect_dagster.orchestration.observations.snapshot import ConnectorSnapshot


class CheckMemory(BaseModel):
    """The last evaluation of a check, in the cursor.

    Attributes:
        passed: Its outcome.
        evaluated_at: Its time, in epoch seconds.
        dead_letters: End offsets of the dead letter queue at that time, for the check of its growth.
    """

    model_config = ConfigDict(frozen=True)

    passed: bool
    evaluated_at: float
    dead_letters: int | None = None


class SinkEvaluations:
    """The evaluations of one connector at one poll.

    Args:
        bounds: The bounds.
        instance: Has the evaluations of runs, which count as well.
        interval: Seconds between two evaluations that did not get worse.
    """

    def __init__(self, bounds: SinkBounds, instance: DagsterInstance, interval: float) -> None:
        self._bounds = bounds
        self._instance = instance
        self._interval = interval

    def due(
        self, key: AssetKey, snapshot: ConnectorSnapshot, known: Mapping[str, CheckMemory], now: float
    ) -> dict[str, tuple[AssetCheckEvaluation, CheckMemory]]:
        """Return the evaluations to store, by check, with what the cursor keeps of them.

        Args:
            key: The connector's asset.
            snapshot: The connector.
            known: What the cursor has kept, by check.
            now: Epoch seconds.
        """
        return {
            name: (
                outcome.evaluation(AssetCheckKey(key, name)),
                CheckMemory(passed=outcome.passed, evaluated_at=now, dead_letters=snapshot.dead_letters),
            )
            for name, outcome in self._outcomes(key, snapshot, known)
            if self._is_due(outcome, known.get(name), now)
        }

    def _outcomes(
        self, key: AssetKey, snapshot: ConnectorSnapshot, known: Mapping[str, CheckMemory]
    ) -> Iterator[tuple[str, CheckOutcome]]:
        if snapshot.lineage.direction is not Direction.SINK:
            return
        if self._bounds.max_lag is not None:
            yield LAG_CHECK, lag_outcome(snapshot, self._bounds.max_lag)
        if self._bounds.max_dead_letters is not None and snapshot.lineage.dead_letter_topic is not None:
            former = self._former_dead_letters(key, snapshot, known.get(DEAD_LETTER_CHECK))
            yield DEAD_LETTER_CHECK, dead_letter_outcome(snapshot, former, self._bounds.max_dead_letters)

    def _former_dead_letters(
        self, key: AssetKey, snapshot: ConnectorSnapshot, memory: CheckMemory | None
    ) -> int | None:
        if memory is not None and memory.dead_letters == snapshot.dead_letters:
            return memory.dead_letters
        return last_total(self._instance, AssetCheckKey(key, DEAD_LETTER_CHECK))

    def _is_due(self, outcome: CheckOutcome, memory: CheckMemory | None, now: float) -> bool:
        if memory is None or now - memory.evaluated_at >= self._interval:
            return True
        # A number that brokers did not return in time may come with the next poll.
        return memory.passed and not outcome.passed and outcome.severity is AssetCheckSeverity.ERROR
