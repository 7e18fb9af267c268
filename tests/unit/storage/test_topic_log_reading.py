"""Settings of a log's consumer. No brokers."""

from typing import Any, cast

import pytest
from confluent_kafka import Consumer

from connect_dagster.kafka import clients
from connect_dagster.kafka.topic_admin import TopicAdmin
from connect_dagster.storage.topic_log import READ_COMMITTED, TopicLog


@pytest.mark.parametrize(
    ("given", "wait"),
    [
        ({}, None),
        ({"isolation.level": READ_COMMITTED}, "50"),
        ({"isolation.level": READ_COMMITTED, "fetch.max.wait.ms": "7"}, "7"),
    ],
)
def test_fetches_of_committed_records_are_short(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], wait: str | None
) -> None:
    """A marker at the end of a partition is reported after a fetch without records, which takes this long."""
    opened: list[dict[str, str]] = []

    class Assigned:
        def assign(self, partitions: list[Any]) -> None:
            assert partitions == []

    def consumer(settings: dict[str, str], extras: object) -> Consumer:
        opened.append(settings)
        return cast("Consumer", Assigned())

    monkeypatch.setattr(clients, "consumer", consumer)
    TopicLog("offsets", given, cast("TopicAdmin", None), lambda *_: None)._open_consumer()
    assert [settings.get("fetch.max.wait.ms") for settings in opened] == [wait]
