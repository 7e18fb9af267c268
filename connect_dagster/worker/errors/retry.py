"""Tries operations again that may work later (Java: ``RetryWithToleranceOperator.execAndRetry``)."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable
from typing import TypeVar

from connect_dagster.worker.errors.failed_records import is_retriable
from connect_dagster.worker.errors.policy import ErrorPolicy
from connect_dagster.worker.metrics.errors import ErrorMetrics

log = logging.getLogger(__name__)

Answer = TypeVar("Answer")
_FIRST_DELAY_MS = 300
# 300 ms doubled so often is longer than a year: no need to count further.
_MOST_DOUBLINGS = 30


class RetryGivenUpError(Exception):
    """The task was asked to do something else while it waited for the next try; nothing of the batch is done."""


class Retries:
    """Retries of one task.

    Args:
        policy: how long, and how often.
        metrics: counts them.
        wait: waits so many seconds; answers whether to go on.
        clock: seconds of a clock that never goes back.
        chance: a random number from 0 to below 1.
    """

    def __init__(
        self,
        policy: ErrorPolicy,
        metrics: ErrorMetrics,
        wait: Callable[[float], bool],
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._policy = policy
        self._metrics = metrics
        self._wait = wait
        self._clock = clock
        self._chance = chance

    def call(
        self, operation: Callable[[], Answer], retriable: Callable[[BaseException], bool] = is_retriable
    ) -> Answer:
        """The operation's answer, from the first try that has one.

        Args:
            operation: what is tried.
            retriable: whether it may work later.

        Raises:
            RetryGivenUpError: the task has to do something else.
            Exception: whatever the operation raises that is not retriable, or still is after the time is over.
        """
        deadline = self._clock() + self._policy.retry_timeout_ms / 1000
        attempt = 0
        while True:
            try:
                return operation()
            except Exception as error:
                left = deadline - self._clock() if self._policy.retry_timeout_ms >= 0 else None
                if not retriable(error) or (left is not None and left <= 0):
                    raise
                log.debug("An operation will be tried again: %s", error)
                self._metrics.failed_try()
            attempt += 1
            self._rest(attempt, left)
            self._metrics.retried()

    def _rest(self, attempt: int, left: float | None) -> None:
        delay = self._delay(attempt)
        if not self._wait(delay if left is None else min(delay, left)):
            raise RetryGivenUpError

    def _delay(self, attempt: int) -> float:
        """Seconds before the next try: ever longer, and at the longest a random part of it, so that tasks spread."""
        most = self._policy.retry_delay_max_ms
        delay: float = _FIRST_DELAY_MS << min(attempt - 1, _MOST_DOUBLINGS)
        return (self._chance() * most if delay > most else delay) / 1000
