"""Which records of a batch are sent once more."""

import pyarrow as pa
import pytest
from confluent_kafka import KafkaError

from connect_dagster.embedded.ports import HOST, free_port
from connect_dagster.kafka import clients
from connect_dagster.worker.source.sender import Record, RecordSender, _Attempt, _groups, _records

TOPIC = "t"
TABLE = pa.table({"value": pa.array([b"a", b"b", b"a", b"c"], pa.binary()), "topic": ["t", "u", "t", "t"]})


class Failed:
    """A message that was not delivered."""

    def __init__(self, value: bytes) -> None:
        self._value = value

    def topic(self) -> str:
        return TOPIC

    def partition(self) -> int:
        return 0

    def key(self) -> None:
        return None

    def value(self) -> bytes:
        return self._value


def first(*values: bytes) -> dict[str, int]:
    attempt = _Attempt()
    for value in values:
        attempt.not_delivered(Failed(value), KafkaError(KafkaError.INVALID_RECORD))  # type: ignore[arg-type]
    return attempt.first_numbers(_records(TABLE, None))


def test_a_topic_is_sent_from_the_first_record_that_failed() -> None:
    assert first(b"c", b"a") == {TOPIC: 3}
    assert first(b"a") == {TOPIC: 0}, "of equal records the first"


def test_a_failed_record_that_is_not_found_sends_the_topic_from_its_beginning() -> None:
    assert first(b"x") == {TOPIC: 0}


def test_rejected_records_and_other_topics_are_not_sent_again() -> None:
    groups = list(_groups(_records(TABLE, None), {TOPIC: 0}, {2}))
    assert [[(number, record["value"]) for number, record in group] for group in groups] == [[(0, b"a"), (3, b"c")]]


def test_a_table_that_was_given_up_is_not_delivered_though_the_worker_is_a_member_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Failed: records were left out while the worker's membership had lapsed, and their batch counted as delivered."""
    begun: list[int] = []
    lapses = iter([True])
    settings = clients.producer_settings(f"{HOST}:{free_port()}", "test", {})
    sender = RecordSender(settings, lambda: len(begun) == 2 and next(lapses, False), lambda _: True, lambda _: None)
    produce_one = sender._produce_one

    def noted(number: int, record: Record) -> KafkaError | None:
        begun.append(number)
        return produce_one(number, record)

    monkeypatch.setattr(sender, "_produce_one", noted)
    try:
        assert not sender.send(TABLE, None, lambda _: False)
        assert begun == [0, 1, 2, 3]
    finally:
        sender.purge()
        sender.close()
