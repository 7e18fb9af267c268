"""Rights that brokers miss at a client, for errors (Kafka: ``AclOperation``)."""

from __future__ import annotations

from confluent_kafka import KafkaError


def text_with_right(error: KafkaError, *, transactional_id: str = "", topic: str = "", on_topic: str = "Write") -> str:
    """Return the text of an error, with the right that its client lacks where the brokers refused one.

    Args:
        error: of a request.
        transactional_id: of the client; empty where it has none.
        topic: of the request; empty where that is not known.
        on_topic: the operations on the topic that the request needs (Kafka: ``AclOperation``).
    """
    needed = ""
    if error.code() == KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED and transactional_id:
        needed = f"Write and Describe on transactional id {transactional_id}"
    elif error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED and topic:
        needed = f"{on_topic} on topic {topic}"
    return f"{error.str()} (the principal of this client needs {needed})" if needed else error.str()
