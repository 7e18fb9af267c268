from typing import Any

import pytest

from connect_dagster.errors import BadRequestError
from connect_dagster.herder.connector_offsets import parse_sink_offsets, shown
from connect_dagster.herder.interface import ConnectorOffset
from connect_dagster.plugin.records import TopicPartition

PLACE = {"kafka_topic": "t", "kafka_partition": 0}


def test_numbers_and_their_texts_are_taken() -> None:
    offsets = [
        ConnectorOffset(PLACE, {"kafka_offset": 5}),
        ConnectorOffset({"kafka_topic": "t", "kafka_partition": "1"}, {"kafka_offset": "-1"}),
        ConnectorOffset({"kafka_topic": 7, "kafka_partition": 2}, None),
    ]
    assert parse_sink_offsets(offsets) == {
        TopicPartition("t", 0): 5,
        TopicPartition("t", 1): -1,
        TopicPartition("7", 2): None,
    }


def test_what_is_shown_is_what_is_taken() -> None:
    one = shown(TopicPartition("t", 3), 9)
    assert list(one.partition or {}) == ["kafka_partition", "kafka_topic"]
    assert parse_sink_offsets([one]) == {TopicPartition("t", 3): 9}


@pytest.mark.parametrize(
    ("partition", "offset", "text"),
    [
        (None, {}, "The partition for a sink connector offset cannot be null or missing"),
        (
            {"kafka_topic": "t"},
            {},
            "The partition for a sink connector offset must contain the keys 'kafka_topic' and 'kafka_partition'",
        ),
        (PLACE | {"kafka_topic": None}, {}, "Kafka topic names must be valid strings and may not be null"),
        (PLACE | {"kafka_partition": None}, {}, "Kafka partitions must be valid numbers and may not be null"),
        (
            PLACE | {"kafka_partition": 1 << 31},
            None,
            "Failed to parse the following Kafka partition value in the provided offsets: '2147483648'. Partition "
            "values for sink connectors need to be integers.",
        ),
        (PLACE, {}, "The offset for a sink connector should either be null or contain the key 'kafka_offset'"),
        (
            PLACE,
            {"kafka_offset": " 1"},
            "Failed to parse the following Kafka offset value in the provided offsets: ' 1'. Offset values for sink "
            "connectors need to be integers.",
        ),
        (
            PLACE,
            {"kafka_offset": True},
            "Failed to parse the following Kafka offset value in the provided offsets: 'true'. Offset values for sink "
            "connectors need to be integers.",
        ),
    ],
)
def test_what_is_none(partition: dict[str, Any] | None, offset: dict[str, Any] | None, text: str) -> None:
    with pytest.raises(BadRequestError) as raised:
        parse_sink_offsets([ConnectorOffset(partition, offset)])
    assert str(raised.value) == text
