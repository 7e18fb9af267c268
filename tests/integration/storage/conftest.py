"""Stores of the group's topics on the run's broker, or on one of the test's own."""

from collections.abc import Iterator

import pytest

from connect_dagster.embedded.broker import EmbeddedBroker
from tests.conftest import Broker
from tests.integration.storage.stores import Stores


@pytest.fixture
def stores(broker: Broker, topic_prefix: str) -> Iterator[Stores]:
    """Makes stores, which are stopped with the test."""
    with Stores(broker.bootstrap_servers, topic_prefix) as made:
        yield made


@pytest.fixture
def own_stores(own_broker: EmbeddedBroker) -> Iterator[Stores]:
    """As `stores`, on the broker of `own_broker`."""
    with Stores(own_broker.bootstrap_servers, "own-") as made:
        yield made
