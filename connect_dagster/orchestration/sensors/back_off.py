"""Delays after failures of workers, tasks and corrections."""

from dataclasses import dataclass

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
