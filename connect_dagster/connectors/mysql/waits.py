"""Waits of a task that can be stopped meanwhile."""

from __future__ import annotations

import time
from collections.abc import Iterator

from connect_dagster.plugin.frames import SourceTable

_STEP_SECONDS = 0.5


def waits(seconds: float) -> Iterator[list[SourceTable]]:
    """Yield nothing for some time."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(left, _STEP_SECONDS))
        yield []
