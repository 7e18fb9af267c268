"""The faults of failed deliveries."""

import pytest
from confluent_kafka import KafkaError

from connect_dagster.kafka.delivery_errors import FAULTS, GIVEN_UP, Fault, fault_of

# R2: at ce718d3 each of these was tolerated as if it were the record's fault.
NOT_OF_A_RECORD = (
    KafkaError._UNKNOWN_TOPIC,
    KafkaError._UNKNOWN_PARTITION,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError._MSG_TIMED_OUT,
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.KAFKA_STORAGE_ERROR,
    KafkaError.POLICY_VIOLATION,
    KafkaError._FATAL,
)


@pytest.mark.parametrize("code", NOT_OF_A_RECORD)
def test_r2_errors_of_brokers_are_no_fault_of_a_record(code: int) -> None:
    assert fault_of(KafkaError(code)) is not Fault.RECORD


def test_an_error_that_is_not_listed_is_no_fault_of_a_record() -> None:
    assert fault_of(KafkaError(KafkaError.GROUP_ID_NOT_FOUND)) is Fault.OTHER


def test_the_records_that_this_process_drops_are_no_errors() -> None:
    assert not GIVEN_UP & FAULTS.keys()
