"""Stands around what plugins do while a plan is made: tries it again, or fails the records it is about.

A transform or converter that raises for a frame fails the records of that frame as data, and ``errors.tolerance``
decides about them as about any others. What a Spark job raises is not about a frame: ``narrowing`` finds the record.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from pyspark.errors import AnalysisException
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.plugin.frames import Frame
from connect_dagster.worker.errors.failed_records import (
    exception_class,
    exception_text,
    is_spark_failure,
    is_spark_gone,
)
from connect_dagster.worker.errors.read_failures import is_passing_read
from connect_dagster.worker.errors.retry import Retries, RetryGivenUpError
from connect_dagster.worker.transforms import Step

Made = TypeVar("Made")
_MOST_CAUSES = 100


class PlanGuard:
    """The guard of one task.

    Args:
        retries: of operations that may work later.
    """

    def __init__(self, retries: Retries) -> None:
        self._retries = retries
        self._causes: dict[str, Exception] = {}

    def step(self, step: Step, frame: Frame) -> list[Frame]:
        """The frame after a step, or with those records failed that the step is applied to."""

        def failing(error: Exception) -> list[Frame]:
            condition = step.condition(frame)
            reached = F.lit(True) if condition is None else condition
            return [frame.fail_where(reached, exception_text(error), exception_class(error))]

        return self.made(lambda: step.applied(frame), failing)

    def made(self, make: Callable[[], Made], instead: Callable[[Exception], Made]) -> Made:
        """What is made, or what stands for it when that fails.

        Raises:
            RetryGivenUpError: the task has to do something else than to wait for the next try.
            Exception: it is not about the frame.
        """
        try:
            return self._retries.call(make)
        except RetryGivenUpError:
            raise
        except Exception as error:
            if is_spark_gone(error) or is_passing_read(error) or _is_of_a_job(error):
                raise
            self._remember(error)
            return instead(error)

    def cause(self, message: str | None) -> Exception | None:
        """What was raised with this text, if it was."""
        return self._causes.get(message or "")

    def _remember(self, error: Exception) -> None:
        if len(self._causes) >= _MOST_CAUSES:
            self._causes.clear()
        self._causes[exception_text(error)] = error


def _is_of_a_job(error: Exception) -> bool:
    return is_spark_failure(error) and not isinstance(error, AnalysisException)
