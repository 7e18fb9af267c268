"""Records sent by columns are those sent one by one."""

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple, cast

import pyarrow as pa
import pytest
from confluent_kafka import KafkaError
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from connect_dagster.kafka import clients
from connect_dagster.kafka.column_producer import ColumnProducer
from connect_dagster.kafka.librdkafka_structs import suits_columns
from connect_dagster.kafka.transactional_producer import TransactionalProducer
from connect_dagster.worker.source.sender import RecordSender, RejectedRecord
from tests.conftest import Broker
from tests.integration import topics

PARTITIONS = 3
LIMIT = 20_000
CONTENT = st.none() | st.binary(max_size=50)
VALUE = CONTENT | st.integers(1, 3).map(lambda tenths: b"v" * (LIMIT * tenths // 2))
STAMP_LIMIT = 1_000_000
HEADERS_TYPE = pa.list_(pa.struct({"key": pa.string(), "value": pa.binary()}))
HEADERS = st.none() | st.lists(st.tuples(st.sampled_from(["", "k", "ü"]), CONTENT), max_size=3)
STAMP = st.none() | st.integers(1, STAMP_LIMIT)
Header = tuple[str, bytes | None]


class Record(NamedTuple):
    """A record to send."""

    value: bytes | None
    key: bytes | None
    partition: int
    topic: str
    headers: list[Header] | None
    timestamp: int | None


PLACE = st.integers(0, PARTITIONS - 1), st.sampled_from("ab")
PLAIN = st.lists(st.builds(Record, VALUE, CONTENT, *PLACE, st.none(), st.none()), min_size=1)
RECORDS = PLAIN | st.lists(st.builds(Record, VALUE, CONTENT, *PLACE, HEADERS, STAMP), min_size=1)
Content = list[tuple[bytes | None, bytes | None, list[Header], int]]


class Way:
    """A sender, and the values that were rejected."""

    def __init__(self, servers: str, name: str, overrides: dict[str, str] | None = None) -> None:
        limits = {"max.request.size": str(LIMIT), **(overrides or {})}
        self._sender = RecordSender(
            clients.producer_settings(servers, name, limits), lambda: False, lambda _: True, lambda _: None
        )
        self._rejected: list[bytes] = []

    def send(self, table: pa.Table) -> list[bytes]:
        """Send records; return the values of rejected ones."""
        self._rejected = []
        assert self._sender.send(table, None, self._tolerate)
        return self._rejected

    def _tolerate(self, record: RejectedRecord) -> bool:
        self._rejected.append(record.record["value"])
        return True

    def close(self) -> None:
        self._sender.purge()
        self._sender.close()
        self._sender.purge()


@pytest.fixture(autouse=True)
def tables_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of one record go by columns as well."""
    monkeypatch.setattr("connect_dagster.worker.source.sender._LEAST_FOR_COLUMNS", 1)


@pytest.fixture
def bootstrap_servers(broker: Broker) -> str:
    return broker.bootstrap_servers


@pytest.fixture
def ways(bootstrap_servers: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Way, Way]]:
    """A sender by columns and one that sends one by one."""
    fast, plain = Way(bootstrap_servers, "fast"), Way(bootstrap_servers, "plain")
    monkeypatch.setattr(plain._sender._columns, "_possible", False)
    yield fast, plain
    assert fast._sender._columns.opened is not None
    fast.close()
    plain.close()


def table_of(records: list[Record], prefix: str) -> pa.Table:
    values, keys, partitions, names, headers, stamps = (list(column) for column in zip(*records, strict=True))
    rows = [row and [{"key": key, "value": value} for key, value in row] for row in headers]
    return pa.table(
        {
            "value": pa.array(values, pa.binary()),
            "key": pa.array(keys, pa.binary()),
            "partition": pa.array(partitions, pa.int32()),
            "topic": [prefix + name for name in names],
            "headers": pa.array(rows, HEADERS_TYPE),
            "timestamp": pa.array(stamps, pa.int64()),
        }
    )


def content(servers: str, topic: str) -> dict[int, Content]:
    """Return the keys, values, headers and given timestamps of each partition, in their order."""
    found: dict[int, Content] = defaultdict(list)
    for one in topics.read_topic(servers, topic, topics.size(servers, topic)):
        stamp = one.timestamp()[1]
        headers = cast("list[Header]", one.headers() or [])
        given_stamp = stamp if stamp <= STAMP_LIMIT else 0
        found[one.partition() or 0].append((one.key(), one.value(), headers, given_stamp))
    return found


def test_both_ways_write_the_same(bootstrap_servers: str, topic_prefix: str, ways: tuple[Way, Way]) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    prefixes = f"{topic_prefix}fast-", f"{topic_prefix}plain-"
    names = [prefix + name for prefix in prefixes for name in "ab"]
    for created in admin.create_topics([NewTopic(name, PARTITIONS, 1) for name in names]).values():
        created.result(60)

    @hypothesis_settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
    @given(RECORDS)
    def send(records: list[Record]) -> None:
        fast, plain = (way.send(table_of(records, prefix)) for way, prefix in zip(ways, prefixes, strict=True))
        assert sorted(fast) == sorted(plain)

    send()
    for name in "ab":
        fast, plain = (content(bootstrap_servers, prefix + name) for prefix in prefixes)
        assert fast == plain
        assert fast


@pytest.mark.parametrize("stamps", [None, 1_000])
def test_a_full_queue_keeps_the_order(bootstrap_servers: str, topic_prefix: str, stamps: int | None) -> None:
    failed: list[KafkaError] = []
    producer = ColumnProducer(
        {"bootstrap.servers": bootstrap_servers, "queue.buffering.max.messages": 100, "acks": "all"},
        lambda number, topic, error: failed.append(error),
        failed.append,
    )
    values = [b"%05d" % number for number in range(5_000)]
    timestamps = pa.array([stamps] * len(values), pa.int64())
    table = pa.table({"value": pa.array(values, pa.binary()), "timestamp": timestamps})
    topic = f"{topic_prefix}full-{stamps}"
    assert suits_columns(table)
    assert producer.knows(table, topic)
    assert not list(producer.produce(table, topic, lambda: False))
    while not producer.flush(1):
        pass
    producer.close()
    assert not failed
    assert [one.value() for one in topics.read_topic(bootstrap_servers, topic, len(values))] == values


def test_headers_and_timestamps_keep_their_place(bootstrap_servers: str, topic_prefix: str) -> None:
    way = Way(bootstrap_servers, "both")
    topic = f"{topic_prefix}mixed"
    plain = pa.table({"value": pa.array([b"1", b"2"], pa.binary()), "topic": [topic] * 2})
    stamped = plain.append_column("timestamp", pa.array([1_000, 2_000], pa.int64()))
    for table in (plain, stamped, plain):
        way.send(table)
    way.close()
    read = topics.read_topic(bootstrap_servers, topic, 6)
    assert [one.value() for one in read] == [b"1", b"2"] * 3
    assert [one.timestamp()[1] for one in read][2:4] == [1_000, 2_000]


@pytest.mark.parametrize("compression", ["none", "gzip", "zstd"])
def test_timestamp_0_is_written(bootstrap_servers: str, topic_prefix: str, compression: str) -> None:
    """Among other timestamps and none, first, last, and alone; after tables without."""
    way, topic = Way(bootstrap_servers, "epoch", {"compression.type": compression}), f"{topic_prefix}epoch"
    rows: list[list[int | None]] = [[5, 6], [0, 7], [8, 0], [0], [9], [0] * 1000, [None, 0, 1]]
    for stamps in rows:
        values, headers = pa.array([b"v"] * len(stamps), pa.binary()), [[{"key": "h", "value": b"1"}]] * len(stamps)
        way.send(
            pa.table(
                {"value": values, "topic": [topic] * len(stamps), "headers": pa.array(headers, HEADERS_TYPE)}
            ).append_column("timestamp", pa.array(stamps, pa.int64()))
        )
    way.close()
    given = [stamp for stamps in rows for stamp in stamps]
    read = topics.read_topic(bootstrap_servers, topic, len(given))
    found = [one.timestamp()[1] for one in read]
    assert [stamp if stamp < STAMP_LIMIT else None for stamp in found] == given
    assert {str(one.headers()) for one in read} == {"[('h', b'1')]"}


@pytest.mark.parametrize("ending", ["commit", "abort"])
def test_timestamp_0_is_written_in_transactions(bootstrap_servers: str, topic_prefix: str, ending: str) -> None:
    topic, id = f"{topic_prefix}epoch-{ending}", f"{topic_prefix}{ending}"
    settings = clients.transactional_settings(clients.producer_settings(bootstrap_servers, id, {}), id)
    producer = TransactionalProducer(settings, lambda: False)
    producer.init()
    given = [0, 7, 0, 0, 9]
    stamps = pa.array(given, pa.int64())
    for end in (ending, "commit"):
        producer.begin()
        producer.send(pa.table({"value": [end.encode()] * len(given), "timestamp": stamps}), topic)
        getattr(producer, end)()
    producer.close()
    count = len(given) * (1 if ending == "abort" else 2)
    read = topics.read_topic(bootstrap_servers, topic, count)
    assert [one.timestamp()[1] for one in read] == given * (count // len(given))
    assert {one.value() for one in read} == {b"commit"}
