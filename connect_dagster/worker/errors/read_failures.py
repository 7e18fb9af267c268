"""Tells what is wrong when a batch cannot be read: the brokers, which come back, or something that ends the task.

Only Spark's reading is judged here: a failure of a sink's own work is never taken for one that passes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql.streaming.query import StreamingQuery

# What Java's clients try again by themselves, as far as a reader meets it (subclasses of RetriableException).
_PASSING = re.compile(
    r"org\.apache\.kafka\.common\.errors\."
    r"(?:Timeout|Disconnect|Network|CoordinatorNotAvailable|CoordinatorLoadInProgress|NotCoordinator"
    r"|NotLeaderOrFollower|LeaderNotAvailable|ReplicaNotAvailable|UnknownTopicOrPartition|UnknownTopicId"
    r"|KafkaStorage|OffsetNotAvailable|FencedLeaderEpoch|UnknownLeaderEpoch|Retriable)Exception"
    # Spark's own: no record came within kafkaConsumer.pollTimeoutMs.
    r"|java\.util\.concurrent\.TimeoutException: Cannot fetch record"
)
_SPARKS_READER = "org.apache.spark.sql.kafka010.consumer."


@dataclass(frozen=True, slots=True)
class StreamFailure:
    """Why a query ended by itself.

    Attributes:
        text: the failure with its causes.
        passing: whether the query may be started again where it was.
    """

    text: str
    passing: bool


def stream_failure(query: StreamingQuery) -> StreamFailure:
    """The failure of a query that has ended."""
    error = query._jsq.exception()
    if not error.isDefined():
        return StreamFailure("The query ended without an error", passing=False)
    text = "\nCaused by: ".join(cause.toString() for cause in _causes(error.get().getCause()))
    return StreamFailure(text, passing=_PASSING.search(text) is not None)


def is_passing_read(error: BaseException) -> bool:
    """Whether a Spark job failed because the brokers did not give it the batch's records."""
    texts = [text for one in chain(error) for text in _java_texts(one)]
    return any(_SPARKS_READER in text and _PASSING.search(text) for text in texts)


def says(error: BaseException, text: str) -> bool:
    """Whether an error or one that it was raised from holds a text."""
    return any(text in str(one) for one in chain(error))


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """An error and those before it."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _java_texts(error: BaseException) -> Iterator[str]:
    yield str(error)
    origin: Any = None
    if isinstance(error, Py4JJavaError):
        origin = error.java_exception
    elif isinstance(error, PySparkException):
        origin = getattr(error, "_origin", None)
    for cause in _causes(origin):
        yield f"{cause.toString()}\n" + "\n".join(frame.toString() for frame in cause.getStackTrace())


def _causes(error: JavaObject | None) -> Iterator[JavaObject]:
    while error is not None:
        yield error
        error = error.getCause()
