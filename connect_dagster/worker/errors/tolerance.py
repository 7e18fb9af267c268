"""Applies the error policy while a Spark plan is built: retries, or marks the frame's records as failed.

A transform or converter that raises for a frame fails all records of that frame as data, and ``errors.tolerance``
decides about them as about any others. An error of a Spark job is not about a frame: bisection finds its record.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from pyspark.errors import AnalysisException
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.expressions.java_errors import is_spark_gone
from connect_dagster.plugin.frames import Frame
from connect_dagster.worker.errors.failures import (
    exception_class,
    exception_text,
    is_passing_read,
    is_spark_failure,
)
from connect_dagster.worker.errors.retry import Retries, RetryGivenUpError
from connect_dagster.worker.transforms import TransformationStage

Built = TypeVar("Built")
_MOST_CAUSES = 100


class ToleranceOperator:
    """The error policy of one task around calls of its transforms and converters.

    Args:
        retries: of retriable errors.
    """

    def __init__(self, retries: Retries) -> None:
        self._retries = retries
        self._causes: dict[str, Exception] = {}

    def apply_stage(self, stage: TransformationStage, frame: Frame) -> list[Frame]:
        """Return the frame after a stage; where the stage raises, with the records of its condition failed."""

        def failed(error: Exception) -> list[Frame]:
            condition = stage.condition(frame)
            reached = F.lit(True) if condition is None else condition
            return [frame.fail_where(reached, exception_text(error), exception_class(error))]

        return self.build(lambda: stage.apply(frame), failed)

    def build(self, build: Callable[[], Built], failed: Callable[[Exception], Built]) -> Built:
        """Return ``build()``, or ``failed(error)`` where it raises an error about the frame.

        Raises:
            RetryGivenUpError: the task has to do something else than wait for the next attempt.
            Exception: an error that is not about the frame.
        """
        try:
            return self._retries.call(build)
        except RetryGivenUpError:
            raise
        except Exception as error:
            if is_spark_gone(error) or is_passing_read(error) or _is_of_a_job(error):
                raise
            self._remember(error)
            return failed(error)

    def cause_of(self, message: str | None) -> Exception | None:
        """Return the exception with this text that ``build`` caught; ``None`` where there was none."""
        return self._causes.get(message or "")

    def _remember(self, error: Exception) -> None:
        if len(self._causes) >= _MOST_CAUSES:
            self._causes.clear()
        self._causes[exception_text(error)] = error


def _is_of_a_job(error: Exception) -> bool:
    return is_spark_failure(error) and not isinstance(error, AnalysisException)
