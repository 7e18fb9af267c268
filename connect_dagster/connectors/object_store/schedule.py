"""Ends of files by the clock (``rotate.schedule.interval.ms``; Confluent: ``DateTimeUtils``)."""

from __future__ import annotations

import datetime as dt


class RotationSchedule:
    """Moments that are an interval apart, counted from midnight.

    Args:
        interval: between two, in milliseconds.
        zone: whose midnight.
    """

    def __init__(self, interval: int, zone: dt.tzinfo) -> None:
        self._interval = interval
        self._zone = zone
        self._next = 0.0

    def begin(self, now: float) -> None:
        """Set the first moment to the next one.

        Args:
            now: seconds since 1970.
        """
        midnight = dt.datetime.fromtimestamp(now, self._zone).replace(hour=0, minute=0, second=0, microsecond=0)
        passed = int((now - midnight.timestamp()) * 1000) // self._interval
        self._next = midnight.timestamp() + (passed + 1) * self._interval / 1000

    def is_due(self, now: float) -> bool:
        """Return whether a moment has passed since the last call that returned true."""
        if now < self._next:
            return False
        self.begin(now)
        return True
