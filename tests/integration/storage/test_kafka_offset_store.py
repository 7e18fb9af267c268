"""The offset topic: offsets by their partition, keys as Java wrote them, and saves that hold."""

from __future__ import annotations

import threading
from contextlib import closing

import pytest
from confluent_kafka import Producer

from connect_dagster.embedded.broker import EmbeddedBroker
from connect_dagster.errors import ConnectError, DataError
from connect_dagster.storage.offset_store import OffsetStore
from connect_dagster.storage.topic_log import NotPermittedError
from tests.integration.storage.stores import SECONDS, Stores

PARTITION = {"filename": "/tmp/test.txt"}
JAVAS_KEY = '["local-file-source",{"filename":"/tmp/test.txt"}]'


def test_s2_11_the_first_flush(stores: Stores) -> None:
    store = stores.offsets()
    store.save("local-file-source", [(PARTITION, {"position": 47})])
    assert stores.read_raw(stores.offset_topic.name) == {21: [(JAVAS_KEY, '{"position":47}')]}


def test_offsets_are_there_for_the_next_worker(stores: Stores) -> None:
    first: OffsetStore = stores.offsets()
    second = stores.offsets()
    first.save("c", [({"n": number}, {"position": number}) for number in range(5)])
    reader = second.open("c", {})
    assert [reader.offset({"n": number}) for number in range(5)] == [{"position": number} for number in range(5)]
    assert second.open("other", {}).offset({"n": 1}) is None
    first.save("c", [({"n": 0}, None), ({"n": 1}, {"position": 10})])
    assert sorted(second.offsets_of("c"), key=str) == [
        ({"n": n}, {"position": n if n > 1 else 10}) for n in range(1, 5)
    ]
    assert second.offset("c", {"n": 0}) is None
    assert stores.offsets().open("c", {}).offset({"n": 1}) == {"position": 10}


def test_keys_that_others_wrote_keep_their_bytes(stores: Stores) -> None:
    stores.offsets().stop()
    topic, theirs = stores.offset_topic.name, '["c", {"b": 1, "a": "x"}]'
    stores.write_raw(topic, (theirs, '{"n": 1}'), ("not json", "?"), ('["c",7]', "{}"))
    store = stores.offsets()
    assert store.offsets_of("c") == [({"b": 1, "a": "x"}, {"n": 1})]
    store.save("c", [({"a": "x", "b": 1}, {"n": 2})])
    assert store.open("c", {}).offset({"a": "x", "b": 1}) == {"n": 2}
    written = [record for records in stores.read_raw(topic).values() for record in records]
    assert (theirs, '{"n":2}') in written


def test_a_connector_with_a_topic_of_its_own(stores: Stores) -> None:
    store = stores.offsets()
    store.save("c", [({"n": number}, {"position": 1}) for number in range(2)])
    config = {"offsets.storage.topic": f"{stores.offset_topic.name}-of-c"}
    with closing(store.open("c", config)) as offsets:
        assert offsets.offset({"n": 0}) == {"position": 1}  # as long as its own topic says nothing
        offsets.save([({"n": 0}, {"position": 2}), ({"n": 2}, {"position": 2})])
    store.save("c", [({"n": 0}, {"position": 3})])
    with closing(store.open("c", config)) as offsets:
        assert offsets.offset({"n": 0}) == {"position": 2}
        assert sorted(offsets.all(), key=str) == [
            ({"n": 0}, {"position": 2}),
            ({"n": 1}, {"position": 1}),
            ({"n": 2}, {"position": 2}),
        ]
        offsets.save([({"n": 0}, None), ({"n": 1}, None)])
        assert sorted(offsets.all(), key=str) == [({"n": 2}, {"position": 2})]
    assert store.offsets_of("c") == [({"n": 2}, {"position": 2})]
    assert store.open("c", {"offsets.storage.topic": stores.offset_topic.name}).all() == store.offsets_of("c")


def test_a_reset_deletes_every_key_of_the_partition(stores: Stores) -> None:
    stores.offsets().stop()
    topic, keys = stores.offset_topic.name, ['["c",{"a":1,"b":2}]', '["c",{"b":2,"a":1}]']
    stores.write_raw(topic, *[(key, '{"n":1}') for key in keys])
    store = stores.offsets()
    store.save("c", [({"a": 1, "b": 2}, None)])
    assert store.offsets_of("c") == []
    written = [record for records in stores.read_raw(topic).values() for record in records]
    assert sorted(key for key, value in written if value is None) == sorted(keys)


def test_only_what_offsets_may_hold_is_written(stores: Stores) -> None:
    store = stores.offsets()
    with pytest.raises(DataError, match="Offsets may only contain primitive types as values"):
        store.save("c", [({"n": 1}, {"position": 1}), (PARTITION, {"list": [1]})])
    store.save("other", [])
    assert stores.read_raw(stores.offset_topic.name) == {}


def test_a_worker_outside_its_group_commits_nothing_later_either(stores: Stores) -> None:
    permitted = threading.Event()
    store = stores.offsets(permitted.is_set)
    with pytest.raises(NotPermittedError):
        store.save("c", [(PARTITION, {"position": 1})])
    permitted.set()
    store.save("d", [(PARTITION, {"position": 2})])
    assert (store.offsets_of("c"), store.offsets_of("d")) == ([], [(PARTITION, {"position": 2})])


@pytest.mark.nightly
def test_a_save_that_brokers_do_not_acknowledge_fails(own_broker: EmbeddedBroker, own_stores: Stores) -> None:
    store = own_stores.offsets(save_seconds=10)
    store.save("c", [(PARTITION, {"position": 1})])
    own_broker.pause()
    with pytest.raises(ConnectError, match=r"^Failed to flush offsets to storage: The brokers did not acknowledge 1"):
        store.save("c", [(PARTITION, {"position": 2})])
    own_broker.resume()
    store.save("c", [(PARTITION, {"position": 3})])
    assert store.offsets_of("c") == [(PARTITION, {"position": 3})]


@pytest.mark.parametrize("own", [False, True])
def test_r4_an_aborted_offset_is_not_believed(stores: Stores, own: bool) -> None:
    """At ce718d3 the answer is 99, whose records do not exist; Java's exactly-once tasks leave such offsets."""
    store = stores.offsets()
    topic = f"{stores.prefix}own" if own else stores.offset_topic.name
    config = {"offsets.storage.topic": topic} if own else {}
    store.open("c", config).close()  # makes the topic
    settings = {"bootstrap.servers": stores.bootstrap_servers, "partitioner": "murmur2_random"}
    producer = Producer({**settings, "transactional.id": f"{topic}-writer"})
    producer.init_transactions(SECONDS)
    for position, end in ((5, producer.commit_transaction), (99, producer.abort_transaction)):
        producer.begin_transaction()
        producer.produce(topic, b'{"p":%d}' % position, b'["c",{"f":1}]')
        producer.flush(SECONDS)
        end(SECONDS)
    with closing(store.open("c", config)) as offsets:
        assert offsets.offset({"f": 1}) == {"p": 5}
    with closing(stores.offsets().open("c", config)) as late:
        assert late.offset({"f": 1}) == {"p": 5}
    producer.begin_transaction()
    producer.produce(topic, b'{"p":7}', b'["c",{"f":1}]')
    producer.flush(SECONDS)
    with closing(store.open("c", config)) as offsets:
        assert offsets.offset({"f": 1}) == {"p": 5}, "an open transaction is not waited for"
    producer.abort_transaction(SECONDS)
