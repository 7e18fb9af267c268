"""Exponential backoff: delays that grow from retry to retry, up to a maximum."""

from dataclasses import dataclass

# Doubling a millisecond this often exceeds 30 years; beyond it the power would only grow until it overflows.
_MOST_DOUBLINGS = 40


@dataclass(frozen=True, slots=True)
class Backoff:
    """Delays of consecutive retries, in whatever unit of time the caller uses.

    Attributes:
        initial: delay before the first retry.
        maximum: longest delay.
        factor: from one delay to the next.

    Examples:
        >>> backoff = Backoff(5.0, 30.0)
        >>> [backoff.delay(retry) for retry in (1, 2, 3, 4, 1000)]
        [5.0, 10.0, 20.0, 30.0, 30.0]
    """

    initial: float
    maximum: float = float("inf")
    factor: float = 2.0

    def delay(self, retry: int) -> float:
        """Return the delay before the ``retry``-th consecutive retry, counted from 1."""
        return min(self.maximum, self.initial * self.factor ** min(retry - 1, _MOST_DOUBLINGS))
