"""Settings of Java's consumer beyond the common ones (Java: ``ConsumerConfig``), and its start without an offset."""

from __future__ import annotations

import re

from connect_dagster.errors import ConfigError
from connect_dagster.kafka.settings.rows import Ignored, Together, between, lower, row, same
from connect_dagster.plugin.config import NO_DEFAULT, Importance, Type

_START = "auto.offset.reset"
_BY_DURATION = "by_duration:"
# As java.time.Duration.parse takes it, without its signs: a duration that looks ahead is refused.
_DURATION = re.compile(
    r"P(?=.)(?:(?P<days>\d+)D)?(?:T(?=.)(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+(?:[.,]\d{1,9})?)S)?)?",
    re.IGNORECASE | re.ASCII,
)
_UNIT_SECONDS = {"days": 86_400, "hours": 3_600, "minutes": 60, "seconds": 1}


def reset_duration(value: str) -> float | None:
    """Return the seconds that ``auto.offset.reset`` goes back; ``None`` for a policy without duration (KIP-1106).

    Java: ``AutoOffsetResetStrategy``.

    Raises:
        ConfigError: it is not a policy.
    """
    policy = value.strip()
    if policy in ("earliest", "latest", "none"):
        return None
    found = _DURATION.fullmatch(policy.removeprefix(_BY_DURATION)) if policy.startswith(_BY_DURATION) else None
    if found is None:
        raise ConfigError.invalid(
            _START,
            value,
            f"Invalid value `{value}` for configuration {_START}. The value must be either 'earliest', 'latest', "
            "'none' or of the format 'by_duration:<PnDTnHnMn.nS.>'.",
        )
    parts = {name: found[name] for name in _UNIT_SECONDS if found[name] is not None}
    return sum(float(number.replace(",", ".")) * _UNIT_SECONDS[name] for name, number in parts.items())


def reset_policy(value: str) -> str:
    """Return librdkafka's policy. It has none for durations: the sink's consumer looks those offsets up.

    Raises:
        ConfigError: it is not a policy.
    """
    reset_duration(value)
    return value.strip() if value.strip() in ("earliest", "latest") else "error"


_H, _M, _L = Importance.HIGH, Importance.MEDIUM, Importance.LOW
_STRING, _INT, _BOOLEAN, _CLASS = Type.STRING, Type.INT, Type.BOOLEAN, Type.CLASS

_BYTES = Ignored("records stay bytes here", harmless=True)
_SHARE = Ignored("a setting of share consumers")
_RANGE = "class org.apache.kafka.clients.consumer.RangeAssignor"
_COOPERATIVE = "class org.apache.kafka.clients.consumer.CooperativeStickyAssignor"


CONSUMER = (
    row(
        "allow.auto.create.topics",
        _BOOLEAN,
        True,
        _M,
        same("allow.auto.create.topics"),
        "Whether brokers may create a topic that is read.",
    ),
    row(
        "auto.commit.interval.ms",
        _INT,
        5_000,
        _L,
        same("auto.commit.interval.ms", turn=between(0, 86_400_000)),
        "How often offsets are committed by themselves.",
    ),
    row(
        "auto.offset.reset",
        _STRING,
        "latest",
        _M,
        same("auto.offset.reset", turn=reset_policy),
        "Where to begin without an offset: earliest, latest, by_duration:<ISO 8601> or none, which is an error.",
    ),
    row("check.crcs", _BOOLEAN, True, _L, same("check.crcs"), "Whether checksums of records are checked."),
    row("client.id", _STRING, "", _L, same("client.id"), "The client's name in the brokers' logs."),
    row("client.rack", _STRING, "", _L, same("client.rack"), "Where the client is, to read from replicas near it."),
    row(
        "default.api.timeout.ms",
        _INT,
        60_000,
        _M,
        Ignored("each call has its own time limit"),
        "How long a call of the client may take.",
    ),
    row("enable.auto.commit", _BOOLEAN, True, _M, same("enable.auto.commit"), "Whether offsets commit by themselves."),
    row(
        "exclude.internal.topics",
        _BOOLEAN,
        True,
        _M,
        Ignored("a pattern never matches internal topics here"),
        "Whether a pattern leaves out internal topics.",
    ),
    row(
        "fetch.max.bytes",
        _INT,
        52_428_800,
        _M,
        same("fetch.max.bytes", turn=between(0, 2_147_483_135)),
        "Most bytes of a response.",
    ),
    row(
        "fetch.max.wait.ms",
        _INT,
        500,
        _L,
        same("fetch.wait.max.ms", turn=between(0, 300_000)),
        "How long brokers wait for fetch.min.bytes.",
    ),
    row(
        "fetch.min.bytes",
        _INT,
        1,
        _H,
        same("fetch.min.bytes", turn=between(1, 100_000_000)),
        "Least bytes of a response.",
    ),
    row("group.id", _STRING, None, _H, same("group.id"), "Group of the consumer."),
    row("group.instance.id", _STRING, None, _M, same("group.instance.id"), "Name of a static member."),
    row("group.protocol", _STRING, "classic", _H, same("group.protocol", turn=lower), "classic or consumer (KIP-848)."),
    row("group.remote.assignor", _STRING, None, _M, same("group.remote.assignor"), "Assignor of the brokers."),
    row(
        "heartbeat.interval.ms",
        _INT,
        3_000,
        _H,
        same("heartbeat.interval.ms", turn=between(1, 3_600_000)),
        "Interval of the member's heartbeats.",
    ),
    row(
        "interceptor.classes",
        Type.LIST,
        (),
        _L,
        Ignored("classes of the JVM cannot be called"),
        "Classes that see each record.",
    ),
    row(
        "internal.throw.on.fetch.stable.offset.unsupported",
        _BOOLEAN,
        False,
        _L,
        Ignored("a matter of Kafka Streams"),
        "Whether brokers without stable offsets are an error.",
        group="",
    ),
    row(
        "isolation.level",
        _STRING,
        "read_uncommitted",
        _M,
        same("isolation.level", turn=lower),
        "read_committed leaves out records of transactions that are not committed.",
    ),
    row("key.deserializer", _CLASS, NO_DEFAULT, _H, _BYTES, "Class that reads keys."),
    row(
        "max.partition.fetch.bytes",
        _INT,
        1_048_576,
        _H,
        same("max.partition.fetch.bytes", turn=between(1, 1_000_000_000)),
        "Most bytes of a partition in a response.",
    ),
    row(
        "max.poll.interval.ms",
        _INT,
        300_000,
        _M,
        same("max.poll.interval.ms", turn=between(1, 86_400_000)),
        "How long a member may be busy before it counts as gone.",
    ),
    row("max.poll.records", _INT, 500, _M, Together("worker.sink"), "Most records of a put."),
    row(
        "partition.assignment.strategy",
        Type.LIST,
        (_RANGE, _COOPERATIVE),
        _M,
        Together("librdkafka: assignors by their short names"),
        "How members share partitions.",
    ),
    row(
        "session.timeout.ms",
        _INT,
        45_000,
        _H,
        same("session.timeout.ms", turn=between(1, 3_600_000)),
        "A member that is not heard of for so long is gone.",
    ),
    row("share.acknowledgement.mode", _STRING, "implicit", _M, _SHARE, "How share consumers acknowledge."),
    row("share.acquire.mode", _STRING, "BATCH_OPTIMIZED", _M, _SHARE, "How share consumers acquire records."),
    row("value.deserializer", _CLASS, NO_DEFAULT, _H, _BYTES, "Class that reads values."),
)
