"""Transactional calls of librdkafka, each of which waits for the brokers (KIP-98)."""

from __future__ import annotations

import time
from collections.abc import Callable

from confluent_kafka import KafkaError, KafkaException, Producer

from connect_dagster.kafka.librdkafka import find_brokers, handle_of
from connect_dagster.kafka.rights import text_with_right

_CALL_SECONDS = 1.0


def init_transactions(producer: Producer, deadline: float) -> None:
    """Refuse the writes of earlier producers of a transactional id, and end what they left open.

    Args:
        producer: the new one.
        deadline: of the monotonic clock.

    Raises:
        KafkaException: the brokers refuse it.
        TimeoutError: the deadline has passed.
    """
    find_brokers(handle_of(producer), min(_CALL_SECONDS, max(0.0, deadline - time.monotonic())))
    repeated(producer.init_transactions, deadline)


def repeated(call: Callable[[float], object], deadline: float, over: Callable[[], bool] = lambda: False) -> None:
    """Repeat a transactional call until it succeeds, as long as librdkafka names its errors retriable.

    Args:
        call: takes the seconds that it may wait.
        deadline: of the monotonic clock.
        over: returns whether to give up; asked once a second.

    Raises:
        KafkaException: the call failed for good.
        TimeoutError: the deadline has passed, or it was given up; the call may still succeed at the brokers.
    """
    while True:
        left = deadline - time.monotonic()
        if left <= 0 or over():
            raise TimeoutError("The brokers did not respond in time")
        try:
            call(min(left, _CALL_SECONDS))
            return
        except KafkaException as error:
            found = error.args[0]
            if not found.retriable():
                raise


def cause_of(error: Exception, transactional_id: str = "") -> str:
    """Return the text of an error of librdkafka, or of another; with the right that a client of this id lacks."""
    found = error.args[0] if error.args else error
    return text_with_right(found, transactional_id=transactional_id) if isinstance(found, KafkaError) else str(found)
