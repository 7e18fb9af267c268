"""Waits for a file to grow, until an event of the kernel (Linux: inotify), else for a while."""

from __future__ import annotations

import logging
import time
from pathlib import Path

from inotify_simple import INotify, flags

log = logging.getLogger(__name__)

_SHORTEST_WAIT, _LONGEST_WAIT, _PART_OF_QUIET = 0.005, 0.1, 1 / 32
# A task that is asked to stop notices it after this time; each look costs a fifth of a millisecond.
_EVENT_WAIT = 0.4
_LEFT = flags.MOVE_SELF | flags.DELETE_SELF | flags.IGNORED


class FileGrowth:
    """Changes of the file at a path.

    Args:
        path: of the file, which may be replaced by another; ``None`` for an input without a path.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._events: INotify | None = None
        self._watch: int | None = None
        try:
            self._events = None if path is None else INotify()
        except (OSError, AttributeError) as error:  # too many of this user, or another system
            log.debug("File %s is looked at in intervals: %s", path, error)

    def wait(self, quiet: float) -> None:
        """Wait until the file changes, at most for four tenths of a second.

        Args:
            quiet: seconds for which it has not grown.
        """
        if self._events is not None and self._watched(self._events):
            found = self._events.read(timeout=round(_EVENT_WAIT * 1000))
            if any(event.mask & _LEFT for event in found):
                self._unwatch(self._events)
        else:
            time.sleep(min(_LONGEST_WAIT, max(_SHORTEST_WAIT, quiet * _PART_OF_QUIET)))

    def close(self) -> None:
        """Stop watching."""
        if self._events is not None:
            self._events.close()

    def _watched(self, events: INotify) -> bool:
        if self._watch is None and self._path is not None:
            try:
                self._watch = events.add_watch(self._path, flags.MODIFY | flags.MOVE_SELF | flags.DELETE_SELF)
            except OSError:  # it is between two files, or on a file system without events
                return False
        return True

    def _unwatch(self, events: INotify) -> None:
        """Look for the file that took the place of this one."""
        try:
            events.rm_watch(self._watch)
        except OSError:
            log.debug("File %s was deleted", self._path)
        self._watch = None
