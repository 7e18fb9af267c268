"""How long to wait before something that failed is tried again: workers' lives, restarts of tasks, corrections."""

from dataclasses import dataclass

from connect_dagster.backoff import Backoff


@dataclass(frozen=True, slots=True)
class BackOff:
    """Waiting times in seconds: ``base`` doubled with each failure in a row, up to ``cap``.

    What went well for ``settled`` seconds is well, and the count of failures starts anew after it.

    Examples:
        >>> [BackOff(base=5.0, cap=30.0).delay(failures) for failures in range(5)]
        [0.0, 5.0, 10.0, 20.0, 30.0]
    """

    base: float = 5.0
    cap: float = 300.0
    settled: float = 600.0

    def delay(self, failures: int) -> float:
        """Waiting time after so many failures in a row; none after none."""
        return Backoff(self.base, self.cap).delay(failures) if failures else 0.0
