"""Rates, averages and extremes over sliding windows, as Kafka's clients define them.

Java: ``SampledStat`` and its children ``Rate``, ``Avg``, ``Min``, ``Max``, ``Frequencies``. Time is an argument, in
seconds of a clock that never goes back.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

_LEAST_SECONDS = 0.001


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows of the past that count.

    Attributes:
        seconds: length of a window (``metrics.sample.window.ms``).
        count: how many of them count (``metrics.num.samples``).
    """

    seconds: float = 30.0
    count: int = 2


@dataclass(slots=True)
class _Sample:
    """Values recorded within one window."""

    start: float
    last: float
    count: int = 0
    total: float = 0.0
    least: float = math.inf
    greatest: float = -math.inf

    def reset(self, now: float) -> None:
        self.start = self.last = now
        self.count, self.total = 0, 0.0
        self.least, self.greatest = math.inf, -math.inf


class Samples:
    """Values recorded of one thing, of which only those within the windows count.

    Args:
        windows: how much of the past counts.
    """

    __slots__ = ("_current", "_samples", "_windows")

    def __init__(self, windows: Windows) -> None:
        self._windows = windows
        self._samples: list[_Sample] = []
        self._current = 0

    def record(self, value: float, now: float) -> None:
        """Add a value."""
        self.record_many(1, value, value, value, now)

    def record_many(self, count: int, total: float, least: float, greatest: float, now: float) -> None:
        """Add several values.

        Args:
            count: number of them.
            total: their sum.
            least: the smallest.
            greatest: the largest.
            now: when they are recorded.
        """
        sample = self._sample_at(now)
        sample.count += count
        sample.total += total
        sample.least = min(sample.least, least)
        sample.greatest = max(sample.greatest, greatest)
        sample.last = now

    def rate(self, now: float) -> float:
        """Sum of the values for each second."""
        self._forget(now)
        if not self._samples:  # from now on nothing was recorded, which is something
            self._samples.append(_Sample(now, now))
        start = min(sample.start for sample in self._samples)
        return self._total() / self._elapsed(now - start)

    def average(self, now: float) -> float:
        """Mean of the values, NaN where there are none."""
        self._forget(now)
        count = sum(sample.count for sample in self._samples)
        return self._total() / count if count else math.nan

    def share(self, of: bool, now: float) -> float:
        """Part of the truth values recorded that were ``of``, from 0 to 1; 0 where there are none."""
        average = self.average(now)
        if math.isnan(average):
            return 0.0
        return average if of else 1.0 - average

    def maximum(self, now: float) -> float:
        """Greatest value, NaN where there are none."""
        self._forget(now)
        return _known(max((sample.greatest for sample in self._samples), default=math.nan))

    def minimum(self, now: float) -> float:
        """Least value, NaN where there are none."""
        self._forget(now)
        return _known(min((sample.least for sample in self._samples), default=math.nan))

    def _sample_at(self, now: float) -> _Sample:
        if not self._samples:
            self._samples.append(_Sample(now, now))
        sample = self._samples[self._current]
        return self._next(now) if now - sample.start >= self._windows.seconds else sample

    def _next(self, now: float) -> _Sample:
        # One more than count: a sample that began before the windows and reaches into them still counts.
        self._current = (self._current + 1) % (self._windows.count + 1)
        if self._current == len(self._samples):
            self._samples.append(_Sample(now, now))
        else:
            self._samples[self._current].reset(now)
        return self._samples[self._current]

    def _forget(self, now: float) -> None:
        age = self._windows.count * self._windows.seconds
        for sample in self._samples:
            if now - sample.last >= age:
                sample.reset(now)

    def _total(self) -> float:
        return sum(sample.total for sample in self._samples)

    def _elapsed(self, seconds: float) -> float:
        """At least all windows but the current one: the first records of a stream make no rate of thousands."""
        length = max(self._windows.seconds, _LEAST_SECONDS)
        missing = max(0, self._windows.count - 1 - int(seconds / length))
        return max(seconds + missing * length, _LEAST_SECONDS)


def _known(value: float) -> float:
    return math.nan if math.isinf(value) else value
