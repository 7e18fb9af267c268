"""Background work of a MirrorMaker connector or task, on one thread (Java: ``Scheduler``)."""

from __future__ import annotations

import contextvars
import heapq
import itertools
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

log = logging.getLogger(__name__)

Work = Callable[[], None]


@dataclass(order=True, slots=True)
class _Run:
    """A run of some work.

    Attributes:
        due: by the monotonic clock.
        number: keeps the order of runs that are due together.
        seconds: between the starts of two runs; ``None`` for work that is done once.
    """

    due: float
    number: int
    work: Work = field(compare=False)
    description: str = field(compare=False)
    seconds: float | None = field(compare=False, default=None)
    ended: threading.Event = field(compare=False, default_factory=threading.Event)


class Scheduler:
    """Runs work on one thread, in turn. A failure is logged, and the work runs again at its next time.

    Args:
        name: of the thread, and in the log.
        timeout: seconds that :meth:`run_now` waits, and that a run may take without a warning
            (``admin.timeout.ms``).
    """

    def __init__(self, name: str, timeout: float) -> None:
        self._name = name
        self._timeout = timeout
        self._numbers = itertools.count()
        self._runs: list[_Run] = []
        self._changed = threading.Condition()
        self._closed = False
        # The log lines of the work then name the connector, as the lines of this thread do.
        run = contextvars.copy_context().run
        self._thread = threading.Thread(target=run, args=(self._run_all,), name=f"Scheduler for {name}", daemon=True)
        self._thread.start()

    def run_now(self, work: Work, description: str) -> None:
        """Run work after what is due already, and wait for its end, a failure or the timeout."""
        if not self._add(0.0, work, description).ended.wait(self._timeout):
            log.error("%s timed out running task: %s", self._name, description)

    def run_soon(self, work: Work, description: str) -> None:
        """Run work after what is due already."""
        self._add(0.0, work, description)

    def run_within(self, work: Work, description: str) -> None:
        """Run work as a part of other work, on its thread: a failure is logged, and the other work goes on."""
        self._run(_Run(0.0, next(self._numbers), work, description))

    def repeat(self, work: Work, seconds: float | None, description: str, *, delayed: bool = False) -> None:
        """Run work again and again.

        Args:
            work: runs on the scheduler's thread.
            seconds: between the starts of two runs; ``None`` for never.
            description: of the work, for the log.
            delayed: whether the first run is after the interval, not at once.
        """
        if seconds is not None:
            self._add(seconds if delayed else 0.0, work, description, seconds)

    def close(self) -> None:
        """End after the current run; wait for its end up to the timeout."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join(self._timeout)
        if self._thread.is_alive():
            log.error("%s timed out during shutdown of internal scheduler.", self._name)
        with self._changed:
            self._runs.clear()  # the work holds its connector or task, and with that clients and their threads

    def _add(self, delay: float, work: Work, description: str, seconds: float | None = None) -> _Run:
        run = _Run(time.monotonic() + delay, next(self._numbers), work, description, seconds)
        with self._changed:
            heapq.heappush(self._runs, run)
            self._changed.notify()
        return run

    def _run_all(self) -> None:
        while (run := self._next()) is not None:
            self._run(run)
            run.ended.set()
            if run.seconds is not None:
                run.due = max(run.due + run.seconds, time.monotonic())
                with self._changed:
                    heapq.heappush(self._runs, run)

    def _next(self) -> _Run | None:
        with self._changed:
            while not self._closed:
                if not self._runs:
                    self._changed.wait()
                elif (left := self._runs[0].due - time.monotonic()) > 0:
                    self._changed.wait(left)
                else:
                    return heapq.heappop(self._runs)
        return None

    def _run(self, run: _Run) -> None:
        began = time.monotonic()
        try:
            run.work()
        except Exception as error:
            log.error("%s failed in scheduled task: %s: %s", self._name, run.description, error, exc_info=True)
            return
        took = time.monotonic() - began
        log.debug("%s took %d ms", run.description, took * 1000)
        if took > self._timeout:
            log.warning("%s took too long (%d ms) running task: %s", self._name, took * 1000, run.description)
