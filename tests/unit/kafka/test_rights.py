"""Errors of missing rights name what is missing."""

import pytest
from confluent_kafka import KafkaError

from connect_dagster.kafka.rights import text_with_right

ID, TOPIC = KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, KafkaError.TOPIC_AUTHORIZATION_FAILED


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (ID, "no (the principal of this client needs Write and Describe on transactional id group-lines-0)"),
        (TOPIC, "no (the principal of this client needs Write on topic lines)"),
        (KafkaError.PRODUCER_FENCED, "no"),
    ],
)
def test_a_missing_right_is_named(code: int, expected: str) -> None:
    assert text_with_right(KafkaError(code, "no"), transactional_id="group-lines-0", topic="lines") == expected


@pytest.mark.parametrize("code", [ID, TOPIC])
def test_what_is_not_known_is_not_named(code: int) -> None:
    assert text_with_right(KafkaError(code, "no")) == "no"
