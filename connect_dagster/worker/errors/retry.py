"""Retries operations with exponential back-off (Java: ``RetryWithToleranceOperator.execAndRetry``)."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable
from typing import TypeVar

from connect_dagster.backoff import Backoff
from connect_dagster.worker.errors.failures import is_retriable
from connect_dagster.worker.errors.policy import ErrorPolicy
from connect_dagster.worker.metrics.errors import ErrorMetrics

log = logging.getLogger(__name__)

Result = TypeVar("Result")
_BACKOFF = Backoff(0.3)


class RetryGivenUpError(Exception):
    """The task was asked to do something else while it waited for the next attempt; no part of the batch is done."""


class Retries:
    """Retries of one task.

    Args:
        policy: timeout and longest delay.
        metrics: counts attempts that failed.
        wait: waits for the given seconds; returns whether to continue.
        clock: seconds of a monotonic clock.
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

    def begin(self) -> RetryAttempts:
        """Start the retry timeout of one operation."""
        return RetryAttempts(self._policy, self._metrics, self._wait, self._clock, self._chance)

    def call(self, operation: Callable[[], Result]) -> Result:
        """Call an operation until it succeeds.

        Raises:
            RetryGivenUpError: the task has to do something else.
            Exception: an error that is not retriable, or one raised after the retry timeout.
        """
        attempts = self.begin()
        while True:
            try:
                return operation()
            except Exception as error:
                if not (is_retriable(error) and attempts.wait_after(error)):
                    raise


class RetryAttempts:
    """Attempts of one operation since ``Retries.begin``."""

    def __init__(
        self,
        policy: ErrorPolicy,
        metrics: ErrorMetrics,
        wait: Callable[[float], bool],
        clock: Callable[[], float],
        chance: Callable[[], float],
    ) -> None:
        self._policy = policy
        self._metrics = metrics
        self._wait = wait
        self._clock = clock
        self._chance = chance
        self._deadline = clock() + policy.retry_timeout_ms / 1000
        self._count = 0

    def wait_after(self, error: Exception) -> bool:
        """Wait before the next attempt.

        Args:
            error: of the attempt that failed; the caller found it retriable.

        Returns:
            ``False`` after the retry timeout, at once.

        Raises:
            RetryGivenUpError: the task has to do something else.
        """
        left = self._deadline - self._clock() if self._policy.retry_timeout_ms >= 0 else None
        if left is not None and left <= 0:
            return False
        log.debug("An operation will be tried again: %s", error)
        self._metrics.failed_try()
        self._count += 1
        delay = self._delay()
        if not self._wait(delay if left is None else min(delay, left)):
            raise RetryGivenUpError
        self._metrics.retried()
        return True

    def _delay(self) -> float:
        """Return the seconds before the next attempt: doubled each time, then a random part of the longest delay."""
        delay, longest = _BACKOFF.delay(self._count), self._policy.retry_delay_max_ms / 1000
        return self._chance() * longest if delay > longest else delay
