"""Committed offsets of groups, also while their coordinator is away or not known yet."""

import threading
import time
import uuid
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException

from connect_dagster.embedded.broker import EmbeddedBroker
from connect_dagster.embedded.ports import HOST, free_port
from connect_dagster.kafka.groups import Offsets, commit_group_offsets, fetch_group_offsets
from tests.conftest import Broker
from tests.integration.topics import create


def test_offsets_of_several_groups_with_their_metadata(broker: Broker) -> None:
    tag = uuid.uuid4().hex[:8]
    topic = f"offsets-{tag}"
    create(broker.bootstrap_servers, topic, 2)
    written = {
        f"one-{tag}": {(topic, 0): (3, "text"), (topic, 1): (4, "")},
        f"two-{tag}": {(topic, 1): (5, "Ü")},
        f"none-{tag}": {},
    }
    settings = {"bootstrap.servers": broker.bootstrap_servers}
    for group, offsets in written.items():
        if offsets:
            commit_group_offsets(settings, group, offsets, 30)
    assert fetch_group_offsets(settings, list(written), 30) == written
    assert fetch_group_offsets(settings, [], 30) == {}


def test_offsets_of_a_group_with_members_stay(broker: Broker) -> None:
    tag = uuid.uuid4().hex[:8]
    create(broker.bootstrap_servers, tag, 1)
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": tag})
    consumer.subscribe([tag])
    try:
        while not consumer.assignment():
            consumer.poll(0.1)
        with pytest.raises(KafkaException) as raised:
            commit_group_offsets({"bootstrap.servers": broker.bootstrap_servers}, tag, {(tag, 0): (3, "")}, 30)
    finally:
        consumer.close()
    assert raised.value.args[0].code() == KafkaError.UNKNOWN_MEMBER_ID


def test_no_broker_is_an_error_and_soon() -> None:
    began = time.monotonic()
    with pytest.raises(KafkaException):
        fetch_group_offsets({"bootstrap.servers": f"{HOST}:{free_port()}"}, ["any"], 1.0)
    assert time.monotonic() - began < 10


@pytest.mark.nightly
def test_brokers_that_start_and_restart_do_not_end_the_process(tmp_path: Path) -> None:
    port = free_port()
    settings = {"bootstrap.servers": f"{HOST}:{port}"}
    ending = threading.Event()
    found: list[dict[str, Offsets]] = []
    errors: list[KafkaException] = []

    def ask() -> None:
        while not ending.is_set():
            try:
                found.append(fetch_group_offsets(settings, ["group", "other"], 1.0))
            except KafkaException as error:
                errors.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        with EmbeddedBroker(tmp_path, port, heap="384m") as broker:
            create(broker.bootstrap_servers, "topic", 1)
            commit_group_offsets(settings, "group", {("topic", 0): (7, "")}, 60)
            broker.restart()
            assert fetch_group_offsets(settings, ["group"], 60) == {"group": {("topic", 0): (7, "")}}
    finally:
        ending.set()
        asking.join()
    assert errors, "it was asked while there was no broker"
    assert {"group": {("topic", 0): (7, "")}, "other": {}} in found
