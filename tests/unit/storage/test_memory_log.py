"""The log of the unit tests does what the real one does."""

from collections.abc import Callable

import pytest

from connect_dagster.storage.topic_log import OnRecord, SharedLog
from tests.topic_log_contract import *  # noqa: F403
from tests.topic_log_contract import OpenTestLog
from tests.unit.storage.memory_log import MemoryAdmin, MemoryTopics


@pytest.fixture
def open_log() -> OpenTestLog:
    topics = MemoryTopics()

    def opened(on_record: OnRecord, permitted: Callable[[], bool]) -> SharedLog:
        log = topics.open("topic", {}, MemoryAdmin(), on_record, permitted)
        log.start()
        return log

    return opened
