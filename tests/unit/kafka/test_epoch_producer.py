"""Errors of kafka-python, as those of confluent-kafka."""

from typing import Any

import pytest
from confluent_kafka import KafkaError
from kafka import errors
from kafka.future import Future

from connect_dagster.kafka.epoch_producer import Receipt


class Done(Future):  # type: ignore[misc]  # without types
    """A future that is done."""

    def get(self, timeout: float) -> Any:
        if self.exception is not None:
            raise self.exception


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.MessageSizeTooLargeError(), KafkaError.MSG_SIZE_TOO_LARGE),
        (errors.TopicAuthorizationFailedError(), KafkaError.TOPIC_AUTHORIZATION_FAILED),
        (errors.KafkaTimeoutError(), KafkaError._UNKNOWN_TOPIC),
        (errors.IllegalStateError(), KafkaError._FAIL),
    ],
)
def test_an_error_has_the_code_that_librdkafka_gives(error: errors.KafkaError, code: int) -> None:
    receipt = Receipt(Done().failure(error))
    assert receipt.wait(0)
    found = receipt.error()
    assert found is not None
    assert found.code() == code


def test_an_acknowledged_record_has_no_error() -> None:
    receipt = Receipt(Done().success(1))
    assert receipt.wait(0)
    assert receipt.error() is None
