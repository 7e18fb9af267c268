"""The log on real brokers keeps the contract that the unit tests build on."""

from collections.abc import Callable

import pytest

from connect_dagster.storage.topic_log import OnRecord, SharedLog
from tests.integration import topics
from tests.integration.storage.stores import Stores
from tests.topic_log_contract import *  # noqa: F403
from tests.topic_log_contract import OpenTestLog


@pytest.fixture
def open_log(stores: Stores) -> OpenTestLog:
    name = f"{stores.prefix}contract"
    topics.create(stores.bootstrap_servers, name, 1)

    def opened(on_record: OnRecord, permitted: Callable[[], bool]) -> SharedLog:
        return stores.log(name, on_record, permitted)

    return opened
