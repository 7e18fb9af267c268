"""The directories of records by their time (Java: ``TimeBasedPartitioner``)."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

import numpy as np

from connect_dagster.connectors.object_store.path_format import PathFormat
from connect_dagster.connectors.object_store.rotation import Numbers
from connect_dagster.errors import DataError

_EPOCH = dt.datetime(1970, 1, 1)
# Zones change their offset at whole minutes.
_MINUTE = 60_000


@dataclass(frozen=True, slots=True)
class TimeDirectories:
    """Directories of intervals of time.

    Attributes:
        duration: of an interval, in milliseconds.
        format: of a directory.
        zone: whose clock an interval is taken from.
    """

    duration: int
    format: PathFormat
    zone: dt.tzinfo

    def of(self, times: Numbers) -> tuple[list[str], Numbers]:
        """Return the directories of records, and the index of each record's directory.

        Args:
            times: milliseconds since 1970.

        Raises:
            DataError: a time is not in the years 1 to 9999.
        """
        minutes, places = np.unique(times // _MINUTE, return_inverse=True)
        try:
            offsets = np.array([self._offset(minute) for minute in minutes.tolist()], np.int64)
            begun, indices = np.unique((times + offsets[places]) // self.duration, return_inverse=True)
            starts = [_EPOCH + dt.timedelta(milliseconds=number * self.duration) for number in begun.tolist()]
        except (OverflowError, ValueError) as error:
            raise DataError(
                f"A record's time is not in the years 1 to 9999: {int(times.min())} to {int(times.max())} ms since 1970"
            ) from error
        return [self.format.text(start) for start in starts], indices

    def _offset(self, minute: int) -> int:
        """Return what the zone's clock has ahead of UTC, in milliseconds."""
        utc = (_EPOCH + dt.timedelta(minutes=minute)).replace(tzinfo=dt.UTC)
        offset = utc.astimezone(self.zone).utcoffset()
        return 0 if offset is None else round(offset.total_seconds() * 1000)
