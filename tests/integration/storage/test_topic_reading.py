"""Reading a topic to its end, with transactions in it."""

import pytest
from confluent_kafka import Producer

from connect_dagster.kafka.topic_reading import read_topic
from connect_dagster.orchestration import TopicRecords
from tests.integration import topics
from tests.integration.storage.stores import SECONDS, Stores


@pytest.fixture
def topic(stores: Stores) -> str:
    """A topic with a committed record, an aborted one and one in an open transaction."""
    name = f"{stores.prefix}t"
    topics.create(stores.bootstrap_servers, name, 1)
    for transaction, ends in (("first", "commit"), ("second", "abort"), ("third", "")):
        producer = Producer({"bootstrap.servers": stores.bootstrap_servers, "transactional.id": name + transaction})
        producer.init_transactions(SECONDS)
        producer.begin_transaction()
        producer.produce(name, transaction.encode())
        producer.flush(SECONDS)
        if ends:
            getattr(producer, f"{ends}_transaction")(SECONDS)
    return name


def test_rows_of_aborted_transactions_are_not_counted(stores: Stores, topic: str) -> None:
    """At ce718d3 all three are counted."""
    assert list(TopicRecords(stores.bootstrap_servers, topic).read()) == ["first"]


def test_all_records_may_be_read(stores: Stores, topic: str) -> None:
    found = read_topic(stores.bootstrap_servers, topic, SECONDS, isolation="read_uncommitted")
    assert [one.value() for one in found] == [b"first", b"second", b"third"]
