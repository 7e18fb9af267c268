"""Metrics of the Kafka clients of tasks, as far as librdkafka has them.

Java: ``SenderMetricsRegistry``, ``BufferPool``, ``FetchMetricsRegistry``, ``ConsumerCoordinatorMetrics``,
``KafkaAdminClient`` and ``Selector``. Averages and extremes are those of the last interval of statistics, rates those
between the last two. Clients with the same name count as one: a source task has a second producer for large batches.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from connect_dagster.kafka.client_statistics import ClientStatistics, Document
from connect_dagster.plugin.metrics import MetricGroup, MetricReading

Statistics = Sequence[ClientStatistics]
"""Of the clients of one kind with one name."""

_MICROSECONDS, _MILLISECONDS = 0.001, 1.0


@dataclass(frozen=True, slots=True)
class _Attribute:
    """One number: its description, and how it follows from statistics."""

    help: str
    value: Callable[[Statistics], float]


def _total(key: str) -> Callable[[Statistics], float]:
    return lambda clients: sum(client.now[key] for client in clients)


def _rate(key: str) -> Callable[[Statistics], float]:
    return lambda clients: sum(client.rate(key) for client in clients)


def _of_brokers(value: Callable[[Document], float]) -> Callable[[Statistics], float]:
    return lambda clients: sum(value(broker) for client in clients for broker in client.now["brokers"].values())


def _windows(clients: Statistics, parts: str, name: str) -> list[Document]:
    found = (part.get(name) for client in clients for part in client.now[parts].values())
    return [window for window in found if window is not None and window["cnt"]]


def _average(parts: str, name: str, scale: float = 1.0) -> Callable[[Statistics], float]:
    def value(clients: Statistics) -> float:
        windows = _windows(clients, parts, name)
        count = sum(window["cnt"] for window in windows)
        return float(scale * sum(window["sum"] for window in windows) / count) if count else math.nan

    return value


def _maximum(parts: str, name: str, scale: float = 1.0) -> Callable[[Statistics], float]:
    def value(clients: Statistics) -> float:
        return max((float(scale * window["max"]) for window in _windows(clients, parts, name)), default=math.nan)

    return value


def _metadata_age(clients: Statistics) -> float:
    ages = (topic["metadata_age"] for client in clients for topic in client.now["topics"].values())
    return max((age / 1000 for age in ages), default=math.nan)


def _rebalanced_seconds_ago(clients: Statistics) -> float:
    groups = [client.now["cgrp"] for client in clients if "cgrp" in client.now]
    return min((group["rebalance_age"] / 1000 for group in groups if group["rebalance_cnt"]), default=-1.0)


_NETWORK = {
    "connection-count": _Attribute(
        "Connections to brokers.", _of_brokers(lambda broker: broker["nodeid"] >= 0 and broker["state"] == "UP")
    ),
    "outgoing-byte-rate": _Attribute("Bytes sent a second.", _rate("tx_bytes")),
    "outgoing-byte-total": _Attribute("Bytes sent.", _total("tx_bytes")),
    "incoming-byte-rate": _Attribute("Bytes received a second.", _rate("rx_bytes")),
    "incoming-byte-total": _Attribute("Bytes received.", _total("rx_bytes")),
    "request-rate": _Attribute("Requests a second.", _rate("tx")),
    "request-total": _Attribute("Requests sent.", _total("tx")),
    "response-rate": _Attribute("Responses a second.", _rate("rx")),
    "response-total": _Attribute("Responses received.", _total("rx")),
}

_WAITS = ("request-latency-avg", "request-latency-max", "requests-in-flight")

_PRODUCER = {
    **_NETWORK,
    "record-send-rate": _Attribute("Records sent a second.", _rate("txmsgs")),
    "record-send-total": _Attribute("Records sent.", _total("txmsgs")),
    "record-queue-time-avg": _Attribute(
        "Mean time of a record in the queue, in milliseconds.", _average("brokers", "int_latency", _MICROSECONDS)
    ),
    "record-queue-time-max": _Attribute(
        "Longest time of a record in the queue, in milliseconds.", _maximum("brokers", "int_latency", _MICROSECONDS)
    ),
    "request-latency-avg": _Attribute(
        "Mean wait for a response, in milliseconds.", _average("brokers", "rtt", _MICROSECONDS)
    ),
    "request-latency-max": _Attribute(
        "Longest wait for a response, in milliseconds.", _maximum("brokers", "rtt", _MICROSECONDS)
    ),
    "requests-in-flight": _Attribute(
        "Requests that wait for their responses.", _of_brokers(lambda broker: broker["waitresp_cnt"])
    ),
    "batch-size-avg": _Attribute("Mean bytes of a batch of a partition.", _average("topics", "batchsize")),
    "batch-size-max": _Attribute("Bytes of the largest batch of a partition.", _maximum("topics", "batchsize")),
    "records-per-request-avg": _Attribute("Mean records of a request.", _average("topics", "batchcnt")),
    "produce-throttle-time-avg": _Attribute(
        "Mean time that a broker throttled a request, in milliseconds.", _average("brokers", "throttle", _MILLISECONDS)
    ),
    "produce-throttle-time-max": _Attribute(
        "Longest time that a broker throttled a request, in milliseconds.",
        _maximum("brokers", "throttle", _MILLISECONDS),
    ),
    "metadata-age": _Attribute("Seconds since the oldest metadata of a topic arrived.", _metadata_age),
    "buffer-total-bytes": _Attribute("Bytes that the queue may hold (buffer.memory).", _total("msg_size_max")),
    "buffer-available-bytes": _Attribute(
        "Bytes of the queue that are free.",
        lambda clients: sum(client.now["msg_size_max"] - client.now["msg_size"] for client in clients),
    ),
}

_ADMIN = {**_NETWORK, **{name: _PRODUCER[name] for name in _WAITS}}

_COORDINATOR = {
    "assigned-partitions": _Attribute(
        "Partitions that the group has assigned to the consumer.",
        lambda clients: sum(client.now.get("cgrp", {}).get("assignment_size", 0) for client in clients),
    ),
    "last-rebalance-seconds-ago": _Attribute(
        "Seconds since partitions were last assigned or revoked; -1 for never.", _rebalanced_seconds_ago
    ),
}

_FETCHES = {
    "records-consumed-rate": _Attribute("Records fetched a second, without those that Spark reads.", _rate("rxmsgs")),
    "records-consumed-total": _Attribute("Records fetched, without those that Spark reads.", _total("rxmsgs")),
    "bytes-consumed-rate": _Attribute("Bytes fetched a second, without Spark's.", _rate("rxmsg_bytes")),
    "bytes-consumed-total": _Attribute("Bytes fetched, without Spark's.", _total("rxmsg_bytes")),
    "fetch-total": _Attribute(
        "Fetch requests, without Spark's.", _of_brokers(lambda broker: broker.get("req", {}).get("Fetch", 0))
    ),
}


def _group(type: str, prefix: str, attributes: Mapping[str, _Attribute]) -> MetricGroup:
    return MetricGroup(type, prefix, ("clientid",), {name: one.help for name, one in attributes.items()})


PRODUCER = _group("producer-metrics", "kafka_producer", _PRODUCER)
PRODUCER_TOPIC = MetricGroup(
    "producer-topic-metrics",
    "kafka_producer_topic",
    ("clientid", "topic"),
    {
        "record-send-total": "Records sent to the topic.",
        "byte-total": "Bytes of records sent to the topic.",
    },
)
CONSUMER = _group("consumer-metrics", "kafka_consumer", _NETWORK)
CONSUMER_COORDINATOR = _group("consumer-coordinator-metrics", "kafka_consumer_coordinator", _COORDINATOR)
CONSUMER_FETCHES = _group("consumer-fetch-manager-metrics", "kafka_consumer_fetch_manager", _FETCHES)
ADMIN = _group("admin-client-metrics", "kafka_admin_client", _ADMIN)
CLIENT_GROUPS = (PRODUCER, PRODUCER_TOPIC, CONSUMER, CONSUMER_COORDINATOR, CONSUMER_FETCHES, ADMIN)

_ATTRIBUTES = {
    "producer": ((PRODUCER, _PRODUCER),),
    "consumer": ((CONSUMER, _NETWORK), (CONSUMER_COORDINATOR, _COORDINATOR), (CONSUMER_FETCHES, _FETCHES)),
    "admin": ((ADMIN, _ADMIN),),
}


def client_readings(statistics: Iterable[ClientStatistics]) -> Iterator[MetricReading]:
    """Yield the groups of clients, one reading for each kind and name."""
    by_client: dict[tuple[str, str], list[ClientStatistics]] = {}
    for one in statistics:
        by_client.setdefault((one.kind, one.client_id), []).append(one)
    for (kind, client_id), clients in by_client.items():
        for group, attributes in _ATTRIBUTES[kind]:
            values = {name: float(one.value(clients)) for name, one in attributes.items()}
            yield MetricReading(group, (client_id,), values)
        if kind == "producer":
            yield from _topics(client_id, clients)


def _topics(client_id: str, clients: Statistics) -> Iterator[MetricReading]:
    sent: dict[str, list[Document]] = {}
    for client in clients:
        for name, topic in client.now["topics"].items():
            sent.setdefault(name, []).extend(topic["partitions"].values())
    for name, partitions in sent.items():
        records, size = (sum(one[key] for one in partitions) for key in ("txmsgs", "txbytes"))
        yield MetricReading(PRODUCER_TOPIC, (client_id, name), {"record-send-total": records, "byte-total": size})
