"""Policy of repeated attempts: when a sensor tries again, and when it gives up.

The delay grows with each attempt in a row. After the last one the sensor gives up, once. The counter resets after a
stable period.
"""

from dataclasses import dataclass
from enum import Enum, auto

from pydantic import BaseModel, ConfigDict

from connect_dagster.backoff import Backoff


@dataclass(frozen=True, slots=True)
class BackOff:
    """Delays in seconds: ``base`` doubled with each failure in a row, up to ``cap``.

    The count of failures resets after ``settled`` seconds without a failure.

    Examples:
        >>> [BackOff(base=5.0, cap=30.0).delay(failures) for failures in range(5)]
        [0.0, 5.0, 10.0, 20.0, 30.0]
    """

    base: float = 5.0
    cap: float = 300.0
    settled: float = 600.0

    def delay(self, failures: int) -> float:
        """Return the delay after a number of failures in a row; 0 after none."""
        return Backoff(self.base, self.cap).delay(failures) if failures else 0.0


class Decision(Enum):
    """Next action of a sensor."""

    NOTHING = auto()
    WAIT = auto()
    TRY = auto()
    GIVE_UP = auto()
    GIVEN_UP = auto()


class Attempts(BaseModel):
    """Attempts so far, kept between two ticks.

    Attributes:
        count: Consecutive attempts.
        last_at: When the last one was made, in epoch seconds.
        well_since: Time of the first healthy observation; None while unhealthy.
        gave_up: Whether the sensor has given up after the last attempt.
    """

    model_config = ConfigDict(frozen=True)

    count: int = 0
    last_at: float = 0.0
    well_since: float | None = None
    gave_up: bool = False


@dataclass(frozen=True, slots=True)
class AttemptPolicy:
    """Number of attempts, and the delays between them.

    Attributes:
        most: Consecutive attempts before the sensor gives up.
        back_off: Delays between attempts, and the stable period after which the count resets.
    """

    most: int
    back_off: BackOff

    def when_healthy(self, attempts: Attempts, now: float) -> Attempts:
        """Return the attempts after a healthy observation at ``now`` (epoch seconds)."""
        since = now if attempts.well_since is None else attempts.well_since
        is_settled = now - since >= self.back_off.settled
        return Attempts() if is_settled or attempts == Attempts() else attempts.model_copy(update={"well_since": since})

    def when_unhealthy(self, attempts: Attempts, now: float) -> tuple[Decision, Attempts]:
        """Return the next action and the attempts after an unhealthy observation at ``now`` (epoch seconds)."""
        known = attempts.model_copy(update={"well_since": None})
        if known.gave_up:
            return Decision.GIVEN_UP, known
        if now < self.due(known):
            return Decision.WAIT, known
        if known.count >= self.most:
            return Decision.GIVE_UP, known.model_copy(update={"gave_up": True})
        return Decision.TRY, known.model_copy(update={"count": known.count + 1, "last_at": now})

    def due(self, attempts: Attempts) -> float:
        """Return the earliest time of the next attempt, in epoch seconds."""
        return attempts.last_at + self.back_off.delay(attempts.count)
