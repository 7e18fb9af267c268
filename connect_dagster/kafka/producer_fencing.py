"""Fences producers out by their transactional ids (Java: ``Admin.fenceProducers``, KIP-618)."""

from __future__ import annotations

import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

from confluent_kafka import KafkaException

from connect_dagster.errors import ConnectError
from connect_dagster.kafka import clients
from connect_dagster.kafka.settings.java_settings import Settings
from connect_dagster.kafka.transactions import cause_of, init_transactions

_AT_ONCE = 8


def fence_producers(producers: Iterable[Settings], seconds: float) -> None:
    """Refuse all further writes of producers that are open now, and end what they left open.

    A producer with the same id is opened and closed for each, as only brokers before Kafka's third version ask for
    more rights for that than the producer itself must have.

    Args:
        producers: settings of each in Java's names, ``transactional.id`` included.
        seconds: for all of them.

    Raises:
        ConnectError: the brokers refuse it, or do not respond in time.
    """
    deadline = time.monotonic() + seconds
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="fencing") as pool:
        for done in [pool.submit(_fence, settings, deadline) for settings in producers]:
            done.result()


def _fence(settings: Settings, deadline: float) -> None:
    id = settings["transactional.id"]
    producer = clients.producer({**settings, "client.id": f"connector-fencing-{id}"})
    try:
        init_transactions(producer, deadline)
    except (KafkaException, TimeoutError) as error:
        raise ConnectError(f"Failed to fence out the producer of {id}: {cause_of(error, id)}") from error
