"""Both libraries of Kafka's clients with one login."""

from connect_dagster.kafka import clients
from connect_dagster.kafka.access import Brokers
from connect_dagster.kafka.groups import commit_group_offsets, fetch_group_offsets
from connect_dagster.orchestration.observations.topic_offsets import fetch_topic_bounds


def assert_both_libraries_log_in(settings: dict[str, str], prefix: str, seconds: float) -> None:
    """Write, read and commit with librdkafka's clients, and ask for offsets with kafka-python's.

    Args:
        settings: of a client, with its login.
        prefix: of the names of topic and groups.
        seconds: the longest time to wait for each step.
    """
    topic = f"{prefix}t"
    producer = clients.producer(settings)
    producer.produce(topic, b"one")
    assert producer.flush(seconds) == 0
    consumer = clients.consumer({**settings, "group.id": f"{prefix}g", "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    found = consumer.poll(seconds)
    assert found is not None
    assert found.value() == b"one"
    consumer.close()
    commit_group_offsets(settings, f"{prefix}other", {(topic, 0): (1, "")}, seconds)
    assert fetch_group_offsets(settings, [f"{prefix}other"], seconds) == {f"{prefix}other": {(topic, 0): (1, "")}}
    bounds = fetch_topic_bounds(Brokers(settings["bootstrap.servers"], settings), [topic], seconds)
    assert [one.end for one in bounds.values()] == [1], "as Dagster's sensors ask"
