"""The configuration of a worker of a group: defaults, what must be there, what is wrong, what nothing reads."""

from __future__ import annotations

import pytest

from connect_dagster.errors import ConfigError
from connect_dagster.herder.distributed.config import DistributedConfig

JSON = "org.apache.kafka.connect.json.JsonConverter"
PROPS = {
    "bootstrap.servers": "localhost:9092",
    "key.converter": JSON,
    "value.converter": JSON,
    "group.id": "connect-cluster",
    "config.storage.topic": "connect-configs",
    "offset.storage.topic": "connect-offsets",
    "status.storage.topic": "connect-status",
}
HMACS = (
    "HmacMD5, HmacSHA1, HmacSHA224, HmacSHA256, HmacSHA384, HmacSHA512, "
    "HmacSHA3-224, HmacSHA3-256, HmacSHA3-384, HmacSHA3-512"
)


def parsed(more: dict[str, str]) -> DistributedConfig:
    return DistributedConfig.parse({**PROPS, **more})


def test_javas_defaults() -> None:
    config = DistributedConfig.parse(PROPS)
    timings = (
        config.session_timeout_ms,
        config.heartbeat_interval_ms,
        config.rebalance_timeout_ms,
        config.request_timeout_ms,
        config.worker_sync_timeout_ms,
        config.worker_unsync_backoff_ms,
        config.scheduled_rebalance_max_delay_ms,
        config.inter_worker_key_ttl_ms,
    )
    assert timings == (10_000, 3_000, 60_000, 40_000, 3_000, 300_000, 300_000, 3_600_000)
    assert (config.offset_storage_partitions, config.status_storage_partitions) == (25, 5)
    replicas = (
        config.config_storage_replication_factor,
        config.offset_storage_replication_factor,
        config.status_storage_replication_factor,
    )
    assert replicas == (3, 3, 3)
    assert (config.connect_protocol, config.exactly_once_source_support) == ("sessioned", "disabled")
    assert config.inter_worker_key_generation_algorithm == config.inter_worker_signature_algorithm == "HmacSHA256"
    assert config.inter_worker_verification_algorithms == ("HmacSHA256",)
    assert (config.client_id, config.inter_worker_key_size, config.listeners) == ("", None, ("http://:8083",))


@pytest.mark.parametrize("name", PROPS)
def test_s2_03_a_missing_key_is_named(name: str) -> None:
    with pytest.raises(ConfigError) as raised:
        DistributedConfig.parse({key: value for key, value in PROPS.items() if key != name})
    assert str(raised.value) == f'Missing required configuration "{name}" which has no default value.'


@pytest.mark.parametrize(
    ("name", "given", "reason"),
    [
        ("connect.protocol", "foo", "String must be one of (case insensitive): EAGER, COMPATIBLE, SESSIONED"),
        ("session.timeout.ms", "abc", "Not a number of type INT"),
        ("heartbeat.interval.ms", "10000", "Value must be lower than session.timeout.ms, which is 10000"),
        (
            "exactly.once.source.support",
            "maybe",
            "String must be one of (case insensitive): DISABLED, ENABLED, PREPARING",
        ),
        (
            "config.storage.replication.factor",
            "0",
            "Replication factor must be positive and not larger than the number of brokers in the Kafka cluster, "
            "or -1 to use the broker's default",
        ),
        (
            "offset.storage.partitions",
            "-2",
            "Number of partitions must be positive, or -1 to use the broker's default",
        ),
        ("scheduled.rebalance.max.delay.ms", "-1", "Value must be at least 0"),
        ("inter.worker.key.generation.algorithm", "AES", f"the algorithm must be one of {HMACS}"),
        ("inter.worker.key.size", "39", "Key length must be at least 40 bits"),
        (
            "inter.worker.signature.algorithm",
            "HmacSHA512",
            "Signature algorithm must be present in inter.worker.verification.algorithms list",
        ),
        ("inter.worker.verification.algorithms", "", f"name at least one algorithm of {HMACS}"),
        ("missing.plugins", "ignore", "String must be one of: refuse, join"),
        ("retry.backoff.ms", "soon", "Not a number of type LONG"),
        ("reconnect.backoff.ms", "-1", "Value must be at least 0"),
        ("send.buffer.bytes", "-2", "Value must be at least -1"),
    ],
)
def test_wrong_values_are_named(name: str, given: str, reason: str) -> None:
    with pytest.raises(ConfigError) as raised:
        parsed({name: given})
    shown = given or "[]"
    assert str(raised.value) == f"Invalid value {shown} for configuration {name}: {reason}"


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("connect.protocol", "EAGER"),
        ("exactly.once.source.support", "Disabled"),
        ("exactly.once.source.support", "PREPARING"),
        ("exactly.once.source.support", "enabled"),
        ("offset.storage.replication.factor", "-1"),
        ("status.storage.partitions", "-1"),
        ("connections.max.idle.ms", "-1"),
        ("inter.worker.verification.algorithms", "HmacSHA1,HmacSHA256"),
    ],
)
def test_values_that_java_takes_as_well(name: str, given: str) -> None:
    assert parsed({name: given}).originals[name] == given


def test_settings_of_the_groups_topics() -> None:
    config = parsed({"config.storage.segment.ms": "5", "offset.storage.partitions": "3"})
    assert config.topic_settings("config.storage.") == {"segment.ms": "5"}
    assert config.topic_settings("offset.storage.") == {}


def test_s2_18_what_nothing_reads_is_named_once(caplog: pytest.LogCaptureFixture) -> None:
    for name in ("retry.backoff.ms", "consumer.max.poll.records"):
        parsed({"rest.port": "8083", "tasks.max": "1", "config.storage.segment.ms": "5", name: "1"})
        (line,) = caplog.messages
        assert line == "These configurations '[rest.port, tasks.max]' were supplied but are not used yet."
        caplog.clear()
