"""Faults that a delivery reports: of the record, of its topic, or of neither.

A broker rejects all records of a request for one of them, and librdkafka reports the error for each: the fault of a
record is proven where it was sent alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from confluent_kafka import KafkaError


class Fault(Enum):
    """The reason for a failed delivery."""

    RECORD = "the record, or another one of the same request, is not accepted whenever it is sent"
    MISSING_TOPIC = "the topic or partition does not exist now; Java's producer waits for it (max.block.ms)"
    PRODUCER = "the brokers refuse the sequence numbers of an idempotent producer, or idempotence itself"
    OTHER = "the brokers, the rights of the client, or its settings: true for all records"


FAULTS: Mapping[int, Fault] = {
    KafkaError.MSG_SIZE_TOO_LARGE: Fault.RECORD,
    KafkaError.RECORD_LIST_TOO_LARGE: Fault.RECORD,
    KafkaError.INVALID_MSG_SIZE: Fault.RECORD,
    KafkaError.INVALID_MSG: Fault.RECORD,
    KafkaError.INVALID_RECORD: Fault.RECORD,
    KafkaError._INVALID_DIFFERENT_RECORD: Fault.RECORD,
    KafkaError.INVALID_TIMESTAMP: Fault.RECORD,
    KafkaError.TOPIC_EXCEPTION: Fault.RECORD,
    KafkaError._KEY_SERIALIZATION: Fault.RECORD,
    KafkaError._VALUE_SERIALIZATION: Fault.RECORD,
    KafkaError._UNKNOWN_TOPIC: Fault.MISSING_TOPIC,
    KafkaError._UNKNOWN_PARTITION: Fault.MISSING_TOPIC,
    KafkaError.UNKNOWN_TOPIC_OR_PART: Fault.MISSING_TOPIC,
    KafkaError.UNKNOWN_TOPIC_ID: Fault.MISSING_TOPIC,
    KafkaError.INCONSISTENT_TOPIC_ID: Fault.MISSING_TOPIC,
    KafkaError.LEADER_NOT_AVAILABLE: Fault.MISSING_TOPIC,
    KafkaError.INVALID_REPLICATION_FACTOR: Fault.MISSING_TOPIC,  # too few brokers to create it now
    KafkaError._DESTROY: Fault.MISSING_TOPIC,  # librdkafka drops the partitions of a topic that was deleted
    # librdkafka repeats these until delivery.timeout.ms or retries is used up, which Connect leaves unlimited.
    KafkaError._MSG_TIMED_OUT: Fault.OTHER,
    KafkaError._TIMED_OUT: Fault.OTHER,
    KafkaError._TIMED_OUT_QUEUE: Fault.OTHER,
    KafkaError._TRANSPORT: Fault.OTHER,
    KafkaError._RESOLVE: Fault.OTHER,
    KafkaError._ALL_BROKERS_DOWN: Fault.OTHER,
    KafkaError._WAIT_CACHE: Fault.OTHER,
    KafkaError._RETRY: Fault.OTHER,
    KafkaError._ISR_INSUFF: Fault.OTHER,
    KafkaError.REQUEST_TIMED_OUT: Fault.OTHER,
    KafkaError.NETWORK_EXCEPTION: Fault.OTHER,
    KafkaError.NOT_LEADER_FOR_PARTITION: Fault.OTHER,
    KafkaError.FENCED_LEADER_EPOCH: Fault.OTHER,
    KafkaError.UNKNOWN_LEADER_EPOCH: Fault.OTHER,
    KafkaError.BROKER_NOT_AVAILABLE: Fault.OTHER,
    KafkaError.REPLICA_NOT_AVAILABLE: Fault.OTHER,
    KafkaError.NOT_ENOUGH_REPLICAS: Fault.OTHER,
    KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND: Fault.OTHER,
    KafkaError.KAFKA_STORAGE_ERROR: Fault.OTHER,
    KafkaError.LOG_DIR_NOT_FOUND: Fault.OTHER,
    KafkaError.LISTENER_NOT_FOUND: Fault.OTHER,
    KafkaError.REBOOTSTRAP_REQUIRED: Fault.OTHER,
    KafkaError.THROTTLING_QUOTA_EXCEEDED: Fault.OTHER,
    KafkaError.UNKNOWN: Fault.OTHER,
    # Rights and logins.
    KafkaError.TOPIC_AUTHORIZATION_FAILED: Fault.OTHER,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: Fault.OTHER,
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: Fault.OTHER,
    KafkaError.SASL_AUTHENTICATION_FAILED: Fault.OTHER,
    KafkaError._AUTHENTICATION: Fault.OTHER,
    KafkaError._SSL: Fault.OTHER,
    KafkaError.UNSUPPORTED_SASL_MECHANISM: Fault.OTHER,
    KafkaError.ILLEGAL_SASL_STATE: Fault.OTHER,
    KafkaError.SECURITY_DISABLED: Fault.OTHER,
    KafkaError.DELEGATION_TOKEN_EXPIRED: Fault.OTHER,
    # The client and the brokers do not fit together, for any record.
    KafkaError.POLICY_VIOLATION: Fault.OTHER,
    KafkaError.INVALID_REQUIRED_ACKS: Fault.OTHER,
    KafkaError.INVALID_REQUEST: Fault.OTHER,
    KafkaError.UNSUPPORTED_VERSION: Fault.OTHER,
    KafkaError.UNSUPPORTED_FOR_MESSAGE_FORMAT: Fault.OTHER,
    KafkaError.UNSUPPORTED_COMPRESSION_TYPE: Fault.OTHER,
    KafkaError._UNSUPPORTED_FEATURE: Fault.OTHER,
    KafkaError._BAD_COMPRESSION: Fault.OTHER,
    KafkaError._BAD_MSG: Fault.OTHER,
    KafkaError._INVALID_ARG: Fault.OTHER,
    KafkaError._UNKNOWN_PROTOCOL: Fault.OTHER,
    KafkaError._NOT_IMPLEMENTED: Fault.OTHER,
    KafkaError._NOT_CONFIGURED: Fault.OTHER,
    KafkaError._UNDERFLOW: Fault.OTHER,
    # This machine, for any record.
    KafkaError._FAIL: Fault.OTHER,
    KafkaError._CRIT_SYS_RESOURCE: Fault.OTHER,
    KafkaError._FS: Fault.OTHER,
    KafkaError._INTR: Fault.OTHER,
    KafkaError._QUEUE_FULL: Fault.OTHER,
    KafkaError._APPLICATION: Fault.OTHER,
    # Idempotence and transactions.
    KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER: Fault.PRODUCER,
    KafkaError.DUPLICATE_SEQUENCE_NUMBER: Fault.PRODUCER,
    KafkaError.UNKNOWN_PRODUCER_ID: Fault.PRODUCER,
    KafkaError.INVALID_PRODUCER_EPOCH: Fault.PRODUCER,
    KafkaError.INVALID_PRODUCER_ID_MAPPING: Fault.OTHER,
    KafkaError.INVALID_TXN_STATE: Fault.OTHER,
    KafkaError.INVALID_TRANSACTION_TIMEOUT: Fault.OTHER,
    KafkaError.TRANSACTION_COORDINATOR_FENCED: Fault.OTHER,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS: Fault.OTHER,
    KafkaError.COORDINATOR_NOT_AVAILABLE: Fault.OTHER,
    KafkaError.NOT_COORDINATOR: Fault.OTHER,
    KafkaError.CONCURRENT_TRANSACTIONS: Fault.OTHER,
    KafkaError.TRANSACTION_ABORTABLE: Fault.OTHER,
    KafkaError.PRODUCER_FENCED: Fault.OTHER,
    KafkaError._FENCED: Fault.OTHER,
    KafkaError._GAPLESS_GUARANTEE: Fault.OTHER,
    KafkaError._INCONSISTENT: Fault.PRODUCER,
    KafkaError._STATE: Fault.OTHER,
    KafkaError._CONFLICT: Fault.OTHER,
    KafkaError._PREV_IN_PROGRESS: Fault.OTHER,
    KafkaError._FATAL: Fault.PRODUCER,
}
"""Codes of delivery callbacks and of ``Producer.produce`` (Kafka: ``ProduceResponse``)."""

GIVEN_UP = frozenset({KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT})
"""Codes of records that this process dropped itself, or librdkafka after a fatal error of its producer."""


def fault_of(error: KafkaError) -> Fault:
    """Return the fault behind an error of a delivery; of an unknown error, :attr:`Fault.OTHER`."""
    return FAULTS.get(error.code(), Fault.OTHER)
