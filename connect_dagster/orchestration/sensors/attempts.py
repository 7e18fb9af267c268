"""Policy of repeated attempts: when a sensor tries again, and when it gives up.

The delay grows with each attempt in a row. After the last one the sensor gives up, once. The counter resets after a
stable period.

An attempt may work and be undone: another writer, which sets the same configuration to something else, changes it back
after each correction. :class:`Contest` counts these changes, and ends them.
"""

from dataclasses import dataclass
from enum import Enum, auto

from pydantic import BaseModel, ConfigDict

from connect_dagster.backoff import Backoff

# Hourly jobs of another writer are noticed too.
CONTEST_WINDOW_SECONDS = 24 * 3600.0
REMEMBERED_VALUES = 20


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


class Contest(BaseModel):
    """Changes of what the sensor had corrected, kept between two ticks.

    Attributes:
        corrected: Whether it was seen as declared since the last change.
        times: When it was changed, in epoch seconds, within the window.
        values: Hashes of what it was changed to.
        lost: Whether the sensor has given up.
    """

    model_config = ConfigDict(frozen=True)

    corrected: bool = False
    times: tuple[float, ...] = ()
    values: tuple[str, ...] = ()
    lost: bool = False

    def as_declared(self, now: float) -> "Contest":
        """Return the contest after an observation of the declared value at ``now`` (epoch seconds)."""
        times = self._recent(now)
        return self.model_copy(update={"corrected": True, "times": times}) if times else Contest(corrected=True)

    def changed(self, value: str, most: int, now: float) -> "Contest":
        """Return the contest after an observation of another value.

        Args:
            value: Its hash.
            most: Corrections in the window before the sensor gives up, until a value comes that is new.
            now: Epoch seconds.
        """
        if self.lost and value not in self.values:
            return Contest(values=(value,))
        times = (*self._recent(now), now) if self.corrected else self.times
        values = self.values if value in self.values else (*self.values, value)[-REMEMBERED_VALUES:]
        return Contest(times=times, values=values, lost=self.lost or len(times) > most)

    def _recent(self, now: float) -> tuple[float, ...]:
        return tuple(time for time in self.times if now - time < CONTEST_WINDOW_SECONDS)
