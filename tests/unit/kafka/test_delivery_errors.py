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


NO_DELIVERY = {
    "nothing": {KafkaError.NO_ERROR, KafkaError._NOOP},
    "inside librdkafka": {
        KafkaError._ASSIGN_PARTITIONS,
        KafkaError._DESTROY_BROKER,
        KafkaError._IN_PROGRESS,
        KafkaError._NODE_UPDATE,
        KafkaError._OUTDATED,
        KafkaError._PARTIAL,
        KafkaError._REVOKE_PARTITIONS,
        KafkaError._UNKNOWN_BROKER,
    },
    "reading settings": {KafkaError._INVALID_TYPE, KafkaError._NOENT, KafkaError._READ_ONLY},
    "fetching": {
        KafkaError._AUTO_OFFSET_RESET,
        KafkaError._KEY_DESERIALIZATION,
        KafkaError._LOG_TRUNCATION,
        KafkaError._PARTITION_EOF,
        KafkaError._VALUE_DESERIALIZATION,
        KafkaError.FETCH_SESSION_ID_NOT_FOUND,
        KafkaError.INVALID_FETCH_SESSION_EPOCH,
        KafkaError.INVALID_RECORD_STATE,
        KafkaError.INVALID_SHARE_SESSION_EPOCH,
        KafkaError.OFFSET_NOT_AVAILABLE,
        KafkaError.OFFSET_OUT_OF_RANGE,
        KafkaError.SHARE_SESSION_LIMIT_REACHED,
        KafkaError.SHARE_SESSION_NOT_FOUND,
    },
    "consumers of a group": {
        KafkaError._ASSIGNMENT_LOST,
        KafkaError._EXISTING_SUBSCRIPTION,
        KafkaError._MAX_POLL_EXCEEDED,
        KafkaError._NO_OFFSET,
        KafkaError._UNKNOWN_GROUP,
        KafkaError._WAIT_COORD,
        KafkaError.FENCED_INSTANCE_ID,
        KafkaError.FENCED_MEMBER_EPOCH,
        KafkaError.FENCED_STATE_EPOCH,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.GROUP_ID_NOT_FOUND,
        KafkaError.GROUP_MAX_SIZE_REACHED,
        KafkaError.GROUP_SUBSCRIBED_TO_TOPIC,
        KafkaError.ILLEGAL_GENERATION,
        KafkaError.INCONSISTENT_GROUP_PROTOCOL,
        KafkaError.INVALID_COMMIT_OFFSET_SIZE,
        KafkaError.INVALID_GROUP_ID,
        KafkaError.INVALID_REGULAR_EXPRESSION,
        KafkaError.INVALID_SESSION_TIMEOUT,
        KafkaError.MEMBER_ID_REQUIRED,
        KafkaError.NON_EMPTY_GROUP,
        KafkaError.OFFSET_METADATA_TOO_LARGE,
        KafkaError.REBALANCE_IN_PROGRESS,
        KafkaError.STALE_MEMBER_EPOCH,
        KafkaError.STREAMS_INVALID_TOPOLOGY,
        KafkaError.STREAMS_INVALID_TOPOLOGY_EPOCH,
        KafkaError.STREAMS_TOPOLOGY_FENCED,
        KafkaError.UNKNOWN_MEMBER_ID,
        KafkaError.UNRELEASED_INSTANCE_ID,
        KafkaError.UNSTABLE_OFFSET_COMMIT,
        KafkaError.UNSUPPORTED_ASSIGNOR,
    },
    "administration": {
        KafkaError.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
        KafkaError.DELEGATION_TOKEN_AUTH_DISABLED,
        KafkaError.DELEGATION_TOKEN_NOT_FOUND,
        KafkaError.DELEGATION_TOKEN_OWNER_MISMATCH,
        KafkaError.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED,
        KafkaError.DUPLICATE_RESOURCE,
        KafkaError.ELECTION_NOT_NEEDED,
        KafkaError.ELIGIBLE_LEADERS_NOT_AVAILABLE,
        KafkaError.FEATURE_UPDATE_FAILED,
        KafkaError.INVALID_CONFIG,
        KafkaError.INVALID_PARTITIONS,
        KafkaError.INVALID_PRINCIPAL_TYPE,
        KafkaError.INVALID_REPLICA_ASSIGNMENT,
        KafkaError.INVALID_UPDATE_VERSION,
        KafkaError.MISMATCHED_ENDPOINT_TYPE,
        KafkaError.NOT_CONTROLLER,
        KafkaError.NO_REASSIGNMENT_IN_PROGRESS,
        KafkaError.OPERATION_NOT_ATTEMPTED,
        KafkaError.PREFERRED_LEADER_NOT_AVAILABLE,
        KafkaError.REASSIGNMENT_IN_PROGRESS,
        KafkaError.RESOURCE_NOT_FOUND,
        KafkaError.TELEMETRY_TOO_LARGE,
        KafkaError.TOPIC_ALREADY_EXISTS,
        KafkaError.TOPIC_DELETION_DISABLED,
        KafkaError.UNACCEPTABLE_CREDENTIAL,
        KafkaError.UNKNOWN_SUBSCRIPTION_ID,
        KafkaError.UNSUPPORTED_ENDPOINT_TYPE,
    },
    "brokers among themselves": {
        KafkaError.DUPLICATE_VOTER,
        KafkaError.INCONSISTENT_VOTER_SET,
        KafkaError.INVALID_REGISTRATION,
        KafkaError.INVALID_VOTER_KEY,
        KafkaError.PRINCIPAL_DESERIALIZATION_FAILURE,
        KafkaError.STALE_BROKER_EPOCH,
        KafkaError.STALE_CTRL_EPOCH,
        KafkaError.UNKNOWN_CONTROLLER_ID,
        KafkaError.VOTER_NOT_FOUND,
    },
}


def test_each_code_of_the_client_is_sorted() -> None:
    """Fails for each code that a new version of confluent-kafka brings."""
    names = {getattr(KafkaError, name): name for name in dir(KafkaError) if name.strip("_").isupper()}
    groups = [set(FAULTS), set(GIVEN_UP), *NO_DELIVERY.values()]
    assert {name for code, name in names.items() if not any(code in group for group in groups)} == set()
    assert sum(map(len, groups)) == len(names), "a code is in two groups"
