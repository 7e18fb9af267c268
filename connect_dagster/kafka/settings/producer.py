"""Settings of Java's producer beyond the common ones (Java: ``ProducerConfig``)."""

from __future__ import annotations

from connect_dagster.kafka.settings.rows import Ignored, Together, between, row, same
from connect_dagster.plugin.config import NO_DEFAULT, Importance, Type

_H, _M, _L = Importance.HIGH, Importance.MEDIUM, Importance.LOW
_STRING, _INT, _LONG, _BOOLEAN, _CLASS = Type.STRING, Type.INT, Type.LONG, Type.BOOLEAN, Type.CLASS
_MAX_INT = 2**31 - 1

_BYTES = Ignored("records are bytes already", harmless=True)
_LEVEL = Together("librdkafka: one level, of the type that is used")
_PARTITIONER = Together("librdkafka: the partitioner")
_BALANCE = Ignored("librdkafka does not look at the brokers' load")


def _endless(value: int) -> str:
    """Return librdkafka's value, where 0 is a delivery without time limit."""
    return "0" if value >= _MAX_INT else str(max(1, value))


PRODUCER = (
    row("acks", _STRING, "all", _L, same("acks"), "Which replicas must have a record: all, 1 or 0."),
    row("batch.size", _INT, 16_384, _M, same("batch.size", turn=between(1)), "Most bytes of a batch."),
    row(
        "buffer.memory",
        _LONG,
        33_554_432,
        _H,
        same("queue.buffering.max.kbytes", turn=lambda value: str(max(1, min(_MAX_INT, value // 1024)))),
        "Bytes of records that may wait to be sent.",
    ),
    row("compression.gzip.level", _INT, -1, _M, _LEVEL, "Level of gzip, 1 to 9; -1 for its default."),
    row("compression.lz4.level", _INT, 9, _M, _LEVEL, "Level of lz4, 1 to 17."),
    row("compression.type", _STRING, "none", _H, same("compression.type"), "none, gzip, snappy, lz4 or zstd."),
    row("compression.zstd.level", _INT, 3, _M, _LEVEL, "Level of zstd, up to 22."),
    row(
        "delivery.timeout.ms",
        _INT,
        120_000,
        _M,
        same("delivery.timeout.ms", turn=_endless),
        "How long the delivery of a record may take in all.",
    ),
    row("enable.idempotence", _BOOLEAN, True, _L, same("enable.idempotence"), "Whether a retry may not write twice."),
    row(
        "interceptor.classes",
        Type.LIST,
        (),
        _L,
        Ignored("classes of the JVM cannot be called"),
        "Classes that see each record.",
    ),
    row("key.serializer", _CLASS, NO_DEFAULT, _H, _BYTES, "Class that makes bytes of keys."),
    row(
        "linger.ms",
        _LONG,
        5,
        _M,
        same("linger.ms", turn=between(0, 900_000)),
        "How long a batch waits for more records.",
    ),
    row("max.block.ms", _LONG, 60_000, _M, Ignored("a task waits as long as it takes"), "How long send may block."),
    row(
        "max.in.flight.requests.per.connection",
        _INT,
        5,
        _L,
        same("max.in.flight.requests.per.connection", turn=between(1, 1_000_000)),
        "Most requests to a broker without a response.",
    ),
    row(
        "max.request.size",
        _INT,
        1_048_576,
        _M,
        same("message.max.bytes", turn=between(1_000, 1_000_000_000)),
        "Most bytes of a request, and so of a record.",
    ),
    row(
        "metadata.max.idle.ms",
        _LONG,
        300_000,
        _L,
        Ignored("librdkafka forgets unused topics by its own rule"),
        "When a topic that is not used is forgotten.",
    ),
    row("partitioner.adaptive.partitioning.enable", _BOOLEAN, True, _L, _BALANCE, "Whether slow brokers get less."),
    row("partitioner.availability.timeout.ms", _LONG, 0, _L, _BALANCE, "When a broker counts as unavailable."),
    row("partitioner.class", _CLASS, None, _M, _PARTITIONER, "Class that chooses partitions."),
    row("partitioner.ignore.keys", _BOOLEAN, False, _M, _PARTITIONER, "Whether keys do not choose partitions."),
    row(
        "request.timeout.ms",
        _INT,
        30_000,
        _M,
        # The second is how long brokers wait for replicas, for which Java sends the same number.
        same("socket.timeout.ms", "request.timeout.ms", turn=between(10, 300_000)),
        "Longest wait for the response to a request.",
    ),
    row(
        "receive.buffer.bytes",
        _INT,
        32_768,
        _M,
        same("socket.receive.buffer.bytes", turn=between(0, 100_000_000)),
        "Receive buffer of a connection; -1 for the system's choice.",
    ),
    row("retries", _INT, _MAX_INT, _H, same("retries", turn=between(0)), "How often a record is sent again."),
    row(
        "transaction.timeout.ms",
        _INT,
        60_000,
        _L,
        same("transaction.timeout.ms", turn=between(1_000)),
        "How long a transaction may be open.",
    ),
    row(
        "transaction.two.phase.commit.enable",
        _BOOLEAN,
        False,
        _L,
        Ignored("librdkafka has no transactions in two phases"),
        "Whether an external coordinator ends transactions.",
    ),
    row("transactional.id", _STRING, None, _L, same("transactional.id"), "Name that transactions go on under."),
    row("value.serializer", _CLASS, NO_DEFAULT, _H, _BYTES, "Class that makes bytes of values."),
)
