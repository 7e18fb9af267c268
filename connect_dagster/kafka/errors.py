"""Errors of requests to brokers, each with one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from confluent_kafka import KafkaError, KafkaException
from kafka import errors as kafka_errors

from connect_dagster.errors import ConnectError


class BrokersError(Exception):
    """The brokers refuse a request, or its subject does not exist."""


class MissingTopicError(BrokersError):
    """A topic that is to be read does not exist."""


class UnansweredError(BrokersError):
    """No broker answered in time; carries the text of the client library."""


def is_of_group(error: KafkaError) -> bool:
    """Return whether an error is of a group that a consumer does not use: librdkafka asks for its coordinator anyway.

    Brokers refuse that to one whose ACLs allow only what it reads, which Java's consumer without a group never notices.
    """
    return bool(error.code() == KafkaError.GROUP_AUTHORIZATION_FAILED)


@contextmanager
def brokers_errors() -> Iterator[None]:
    """Convert errors of the client libraries to the errors above."""
    try:
        yield
    except (kafka_errors.KafkaTimeoutError, kafka_errors.KafkaConnectionError) as error:
        raise UnansweredError(str(error)) from error
    except kafka_errors.KafkaError as error:
        raise BrokersError(str(error)) from error
    except ConnectError as error:
        raise BrokersError(str(error)) from error
    except KafkaException as error:
        cause = error.args[0]
        if isinstance(cause, KafkaError) and cause.code() in (KafkaError._TRANSPORT, KafkaError._TIMED_OUT):
            raise UnansweredError(cause.str()) from error
        raise BrokersError(str(cause)) from error
