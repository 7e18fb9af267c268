"""The most that a task may move in a second."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rate:
    """Records and bytes in a second, of a task with ``rate.limit.*``; infinite without.

    Attributes:
        records: records a second.
        bytes: bytes of keys and values a second.

    Examples:
        >>> Rate(records=100, bytes=1000).seconds(50, 2000)
        2.0
    """

    records: float = math.inf
    bytes: float = math.inf

    @property
    def is_limited(self) -> bool:
        """Return whether there is a limit at all."""
        return self.records < math.inf or self.bytes < math.inf

    def seconds(self, records: int, bytes: int) -> float:
        """Return the least time for a number of records with their bytes."""
        return max(records / self.records, bytes / self.bytes)

    def cap_records(self, most: int) -> int:
        """Return a bound of the records of a poll, or that of a second where it is lower."""
        return max(1, int(min(most, self.records)))

    def cap_bytes(self, most: int) -> int:
        """Return a bound of the bytes of a poll, or that of a second where it is lower."""
        return max(1, int(min(most, self.bytes)))

    def most_records(self, seconds: float, each: float) -> float:
        """Return the number of records for some seconds, by the bytes of each."""
        return seconds * min(self.records, self.bytes / max(1.0, each))


UNLIMITED = Rate()
"""The rate of a task without a limit."""
