"""The herder's thread: the requests that run on it, now or later, and its stage: why a request waits.

Java: ``DistributedHerderRequest``, ``TickThreadStage``, ``Stage``.
"""

from __future__ import annotations

import heapq
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(order=True, slots=True)
class _Request:
    at: float
    number: int
    action: Callable[[], Any] = field(compare=False)
    future: Future[Any] = field(compare=False)


class Requests:
    """A queue by time, then by order of arrival; any thread may add to it.

    Args:
        wake: called when the herder has something to do earlier than it knew.
        clock: seconds of a monotonic clock.
    """

    def __init__(self, wake: Callable[[], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._wake = wake
        self._clock = clock
        self._queue: list[_Request] = []
        self._number = 0
        self._closed: Exception | None = None
        self._lock = threading.Lock()

    def add(self, action: Callable[[], T], delay: float = 0.0) -> Future[T]:
        """Run an action on the herder's thread, and return its future result.

        Args:
            action: what to run.
            delay: seconds to wait before.
        """
        future: Future[T] = Future()
        with self._lock:
            if self._closed is not None:
                future.set_exception(self._closed)
                return future
            self._number += 1
            request = _Request(self._clock() + delay, self._number, action, future)
            heapq.heappush(self._queue, request)
            first = self._queue[0] is request
        if first:
            self._wake()
        return future

    @property
    def next_at(self) -> float | None:
        """When the next one is due, by the clock."""
        with self._lock:
            return self._queue[0].at if self._queue else None

    def run_due(self, seconds: float) -> None:
        """Run all that are due; an exception is the result of its action.

        Args:
            seconds: no further one begins after that; the rest stays due.
        """
        now = self._clock()
        while self._clock() <= now + seconds and (request := self._pop(now)) is not None:
            _run(request)

    def close(self, error: Exception) -> None:
        """Fail all requests that wait, and all later ones."""
        with self._lock:
            self._closed = error
            waiting, self._queue = self._queue, []
        for request in waiting:
            request.future.set_exception(error)

    def _pop(self, now: float) -> _Request | None:
        with self._lock:
            return heapq.heappop(self._queue) if self._queue and self._queue[0].at <= now else None


def _run(request: _Request) -> None:
    try:
        result = request.action()
    except Exception as error:
        request.future.set_exception(error)
    else:
        request.future.set_result(result)


@dataclass(frozen=True, slots=True)
class _Stage:
    description: str
    began: datetime
    ended: datetime | None = None


class TickThreadStage:
    """The latest stage; one thread enters stages, any thread may read.

    Args:
        first: description of the stage before the first that is entered.
    """

    def __init__(self, first: str) -> None:
        self._current = _Stage(first, datetime.now(UTC))

    @contextmanager
    def __call__(self, description: str) -> Iterator[None]:
        """Enter a stage, such as ``ensuring membership in the cluster``; afterwards return to an unfinished one."""
        before = self._current
        self._current = mine = _Stage(description, datetime.now(UTC))
        try:
            yield
        finally:
            self._current = before if before.ended is None else replace(mine, ended=datetime.now(UTC))

    @property
    def summary(self) -> str:
        """Return a sentence for users, with Java's text (``Stage.summarize``)."""
        stage = self._current
        began = _instant(stage.began)
        if stage.ended is None:
            return f"The worker is currently {stage.description}, which began at {began}."
        return (
            f"The last operation the worker completed was {stage.description}, which began at {began} "
            f"and completed at {_instant(stage.ended)}."
        )


def _instant(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
