"""Failures: of single records, of Spark jobs, and of reads whose brokers are away.

Java: ``ProcessingContext``. This module classifies errors. It does not report them and does not end tasks.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from connect_dagster.errors import ConnectError, DataError, RetriableError
from connect_dagster.expressions.java_errors import chain, is_spark_gone, java_texts
from connect_dagster.expressions.offset_ranges import READERS

KEY_CONVERTER, VALUE_CONVERTER = "KEY_CONVERTER", "VALUE_CONVERTER"
KAFKA_PRODUCE, TASK_PUT = "KAFKA_PRODUCE", "TASK_PUT"
TOLERANCE_EXCEEDED = "Tolerance exceeded in error handler"

_RETRIABLE_IN_PYTHON = f"{RetriableError.__module__}.{RetriableError.__qualname__}:"
_LONGEST_TEXT = 4000
# PySpark does not convert errors before the first task of a job: the optimizer evaluates constant expressions.
_IN_SPARK = (PySparkException, Py4JJavaError)
_JAVA_ERROR = re.compile(r"(?:^|\n)(?:Caused by)?: ([\w.$]+)(?:: (.*?))?(?=\n\t|\nCaused by: |\Z)", re.DOTALL)

# Errors of a reader that Java's clients retry (subclasses of RetriableException).
_PASSING = re.compile(
    r"org\.apache\.kafka\.common\.errors\."
    r"(?:Timeout|Disconnect|Network|CoordinatorNotAvailable|CoordinatorLoadInProgress|NotCoordinator"
    r"|NotLeaderOrFollower|LeaderNotAvailable|ReplicaNotAvailable|UnknownTopicOrPartition|UnknownTopicId"
    r"|KafkaStorage|OffsetNotAvailable|FencedLeaderEpoch|UnknownLeaderEpoch|Retriable)Exception"
    # Spark's own: no record came within kafkaConsumer.pollTimeoutMs.
    r"|java\.util\.concurrent\.TimeoutException: Cannot fetch record"
)
# Spark's text for records that are not in their log (its error class KAFKA_DATA_LOSS, with failOnDataLoss).
_LOST = "Some data may have been lost because they are not available in Kafka any more"


@dataclass(frozen=True, slots=True)
class RawRecord:
    """A record in bytes, as it was read from Kafka or as a source polled it (Java: ``ProcessingContext``).

    Attributes:
        topic: the topic it was read from; for a record of a source, the topic it was written to.
        key: bytes of the key.
        value: bytes of the value.
        partition: of ``topic``; ``None`` where a source left the choice to the partitioner.
        offset: ``None`` for a record of a source.
        timestamp: epoch milliseconds; ``None`` for none.
        timestamp_type: ``CreateTime`` or ``LogAppendTime``; ``None`` where there is none.
        headers: in their order.
        source_partition: the partition of the source, as JSON.
        source_offset: as JSON, the offset right after the frame of the record.
    """

    topic: str | None
    key: bytes | None
    value: bytes | None
    partition: int | None = None
    offset: int | None = None
    timestamp: int | None = None
    timestamp_type: str | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    source_partition: str | None = None
    source_offset: str | None = None

    def log_text(self) -> str:
        """Return the record as Java's log shows it; of a record of a source, the parts known here."""
        if self.source_partition is None:
            time = ""
            if self.timestamp_type is not None:
                time = f", timestamp={self.timestamp}, timestampType={self.timestamp_type}"
            place = f"topic='{self.topic}', partition={self.partition}, offset={self.offset}"
            return f", where consumed record is {{{place}{time}}}"
        return (
            f", where source record is = SourceRecord{{sourcePartition={self.source_partition}, "
            f"sourceOffset={self.source_offset}}} ConnectRecord{{topic='{self.topic}', "
            f"kafkaPartition={_text(self.partition)}, key={_text(self.key)}, value={_text(self.value)}, "
            f"timestamp={_text(self.timestamp)}}}"
        )


def _text(value: bytes | int | None) -> str:
    if value is None:
        return "null"
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


@dataclass(frozen=True, slots=True)
class Failure:
    """The failure of a record.

    Attributes:
        stage: Kafka Connect's stage, such as ``TRANSFORMATION`` (Java: ``Stage``).
        executor: class of the plugin.
        exception: class of the error, Java's where it has one.
        message: the error's text.
        trace: Python's traceback of an exception.
    """

    stage: str
    executor: str
    exception: str
    message: str | None
    trace: str = ""

    @classmethod
    def of(cls, stage: str, executor: str, error: BaseException) -> Failure:
        """Return the failure of an exception."""
        trace = "".join(traceback.format_exception(error))
        return cls(stage, executor, exception_class(error), exception_text(error), trace)

    @classmethod
    def in_column(cls, found: Mapping[str, Any]) -> Failure:
        """Return the failure in a frame's column ``FAILURE``."""
        return cls(found["stage"], found["executor"], found["exception"], found["message"])

    @property
    def stacktrace(self) -> str:
        """Return the error as Java prints it, then the trace."""
        first = f"{self.exception}: {self.message}" if self.message is not None else self.exception
        return f"{first}\n{self.trace}" if self.trace else f"{first}\n\tat {self.executor}\n"


@dataclass(frozen=True, slots=True)
class FailedRecord:
    """A record that failed.

    Attributes:
        failure: stage, class and error.
        record: in bytes.
        error: the exception; ``None`` where the failure is data.
    """

    failure: Failure
    record: RawRecord
    error: BaseException | None = field(default=None, compare=False)


class ToleranceExceededError(ConnectError):
    """A record failed and ``errors.tolerance`` is ``none``."""

    def __init__(self) -> None:
        super().__init__(TOLERANCE_EXCEEDED)


class RecordError(DataError):
    """The error of one record."""

    @classmethod
    def of(cls, failure: Failure) -> RecordError:
        """Return the error of a failure that is data."""
        return cls(f"{failure.exception}: {failure.message}")


def exception_class(error: BaseException) -> str:
    """Return the class of an error: Java's name where it has one."""
    if isinstance(error, ConnectError):
        return error.java_name
    if isinstance(error, Py4JJavaError):
        return _first_cause(error)[0]
    return f"{type(error).__module__}.{type(error).__qualname__}".removeprefix("builtins.")


def exception_text(error: BaseException) -> str:
    """Return the text of an error; of a Python error inside a Spark job, the last line of its traceback."""
    text = _first_cause(error)[1] if isinstance(error, Py4JJavaError) else str(error).strip()
    if isinstance(error, PySparkException) and "Traceback (most recent call last)" in text:
        lines = [line for line in text.partition("\nJVM stacktrace:")[0].strip().splitlines() if line.strip()]
        return lines[-1].strip()
    return text.partition("\nJVM stacktrace:")[0].strip()[:_LONGEST_TEXT]


def _first_cause(error: Py4JJavaError) -> tuple[str, str]:
    """Return class and text of the root cause in a Java trace."""
    name, text = _JAVA_ERROR.findall(str(error))[-1]
    return name, text.strip()


def is_retriable(error: BaseException) -> bool:
    """Return whether an error is a RetriableError, or a Spark job failed with one raised in Python."""
    return isinstance(error, RetriableError) or is_retriable_job(error)


def is_retriable_job(error: BaseException) -> bool:
    """Return whether a Spark job failed with a RetriableError raised in Python."""
    return any(isinstance(one, _IN_SPARK) and _RETRIABLE_IN_PYTHON in str(one) for one in chain(error))


def is_spark_failure(error: BaseException) -> bool:
    """Return whether a Spark job or its plan failed while Spark itself is alive."""
    found = list(chain(error))
    return any(isinstance(one, _IN_SPARK) for one in found) and not is_spark_gone(error)


def is_passing_read(error: BaseException) -> bool:
    """Return whether a Spark job failed because the brokers did not give it the batch's records."""
    return any(_PASSING.search(text) and any(one in text for one in READERS) for text in java_texts(error))


def is_lost_read(error: BaseException) -> bool:
    """Return whether a Spark job failed because the batch's records are not in their logs any more."""
    return any(_LOST in text for text in java_texts(error))


def says(error: BaseException, text: str) -> bool:
    """Return whether an error or one of its causes contains a text."""
    return any(text in str(one) for one in chain(error))
