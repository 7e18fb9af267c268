"""The flows of mm2.properties with their configurations: brokers, loops, properties without effect."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from connect_dagster.connectors.mirror.dedicated_config import DedicatedConfig
from connect_dagster.connectors.mirror.flow import Flow
from connect_dagster.connectors.mirror.flow_configs import FlowConfig, looping_flows, read_flows, unused_properties
from connect_dagster.errors import ConfigError
from connect_dagster.java.properties import parse_properties

FRAMEWORK = ("name", "connector.class", "tasks.max")
BROKERS = """
clusters = A, B
A.bootstrap.servers = a:1
B.bootstrap.servers = b:1
"""
IDENTITY = "replication.policy.class = org.apache.kafka.connect.mirror.IdentityReplicationPolicy\n"
BOTH = "A->B.enabled = true\nB->A.enabled = true\n"


def resolve(properties: Mapping[str, str]) -> Mapping[str, str]:
    return {name: value.replace("${env:ON}", "true") for name, value in properties.items()}


def read(text: str, *targets: str) -> tuple[DedicatedConfig, list[FlowConfig]]:
    return read_flows(parse_properties(text, "mm2.properties"), targets, FRAMEWORK, resolve)


def test_javas_example() -> None:
    config, flows = read(BROKERS + "A->B.enabled = true")
    assert config.clusters == ("A", "B")
    assert [(one.flow, one.replicates) for one in flows] == [(Flow("A", "B"), True), (Flow("B", "A"), False)]
    forward, back = flows
    names = ["MirrorSourceConnector", "MirrorHeartbeatConnector", "MirrorCheckpointConnector"]
    assert [list(one.connectors) for one in flows] == [names, names]
    assert [connector["enabled"] for connector in forward.connectors.values()] == ["true"] * 3
    assert [connector["enabled"] for connector in back.connectors.values()] == ["false"] * 3
    assert forward.worker["group.id"] == "A-mm2"
    assert forward.worker["bootstrap.servers"] == "b:1"
    assert forward.worker["connector.client.config.override.policy"] == "All"
    assert (back.worker["group.id"], back.worker["bootstrap.servers"]) == ("B-mm2", "a:1")


def test_placeholders_are_resolved_to_decide_and_kept_in_what_is_stored() -> None:
    _, (flow,) = read(BROKERS + "emit.heartbeats.enabled = false\nA->B.enabled = ${env:ON}\nconfig.providers = env")
    assert flow.replicates
    assert flow.connectors["MirrorSourceConnector"]["enabled"] == "${env:ON}"
    assert "true" not in repr(flow)


def test_an_option_for_all_flows_enables_them() -> None:
    _, flows = read(BROKERS + "enabled = true")
    assert [one.replicates for one in flows] == [True, True]


@pytest.mark.parametrize(
    ("text", "targets", "missing"),
    [
        ("A.bootstrap.servers = a:1\nA->B.enabled = true", (), "B.bootstrap.servers"),
        ("B.bootstrap.servers = b:1\nA->B.enabled = true", (), "A.bootstrap.servers"),
        ("B.bootstrap.servers = b:1\nA->B.enabled = true", ("B",), "A.bootstrap.servers"),
        ("A.bootstrap.servers = a:1\nB.bootstrap.servers =\nA->B.enabled = true", (), "B.bootstrap.servers"),
    ],
)
def test_brokers_are_needed(text: str, targets: tuple[str, ...], missing: str) -> None:
    with pytest.raises(ConfigError) as raised:
        read(f"clusters = A, B\n{text}", *targets)
    assert str(raised.value) == f'Missing required configuration "{missing}" which has no default value.'


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        # Heartbeats need no source, and each side may be named elsewhere.
        ("B.bootstrap.servers = b:1", ("B",)),
        ("bootstrap.servers = x:1\nA->B.enabled = true", ()),
        ("B.bootstrap.servers = b:1\nA->B.enabled = true\nA->B.source.cluster.bootstrap.servers = a:1", ("B",)),
        ("B.bootstrap.servers = b:1\nA->B.enabled = true\nA->B.source.consumer.bootstrap.servers = a:1", ("B",)),
    ],
)
def test_brokers_are_there(text: str, targets: tuple[str, ...]) -> None:
    _, flows = read(f"clusters = A, B\n{text}", *targets)
    assert flows


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("replication.policy.class = no.Such", "Invalid value no.Such for configuration replication.policy.class"),
        ("A->B.refresh.topics.interval.seconds = often", "often for configuration refresh.topics.interval.seconds"),
        ("emit.checkpoints.interval.seconds = often", "often for configuration emit.checkpoints.interval.seconds"),
    ],
)
def test_a_wrong_option_is_named(text: str, wrong: str) -> None:
    _, (forward, _) = read(f"{BROKERS}{BOTH}{text}")
    with pytest.raises(ConfigError, match=wrong):
        forward.check(lambda _: None)


def test_connectors_that_are_switched_off_are_no_error() -> None:
    _, flows = read(BROKERS + BOTH + "emit.checkpoints.enabled = false\nemit.heartbeats.enabled = false")
    for flow in flows:
        flow.check(lambda _: None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (BOTH, []),
        (BOTH + IDENTITY, [Flow("A", "B")]),
        ("A->B.enabled = true\n" + IDENTITY, []),
        (BOTH + "A->B." + IDENTITY, []),
        (BOTH + "A->B." + IDENTITY + "B->A." + IDENTITY, [Flow("A", "B")]),
    ],
)
def test_lb_13_loops_of_topics_that_keep_their_names(text: str, expected: list[Flow]) -> None:
    for targets in ([], ["B"]):
        config, _ = read(BROKERS + text, *targets)
        assert looping_flows(config) == expected, "another process may run the other flow"


def test_certificates_of_the_rest_api_are_not_those_for_a_cluster() -> None:
    rest = "dedicated.mode.enable.internal.rest = true\nlisteners = https://:1\nssl.keystore.location = rest\n"
    _, (forward, back) = read(BROKERS + "A->B.enabled = true\nB.ssl.keystore.location = b\n" + rest)
    assert forward.worker["ssl.keystore.location"] == "b"
    assert back.worker["ssl.keystore.location"] == "rest", "as Java: it counts for clusters without their own"
    assert "listeners" not in forward.worker


def test_properties_without_effect() -> None:
    text = """
        topics = t
        tasks.max = 3
        A->B.anything = x
        A->C.enabled = true
        B.anything = x
        offset.storage.anything = x
        listeners = http://:1
        dedicated.mode.enable.internal.rest = true
        config.providers = env
        config.providers.env.class = C
        spark.anything = x
        plugin.path = p
        ssl.protocol = TLS
        use.defaults.from = source
        consumer.fetch.min.bytes = 1
        topic = t
        C.bootstrap.servers = c:1
    """
    config, _ = read(BROKERS + text)
    unused = ["A->C.enabled", "use.defaults.from", "consumer.fetch.min.bytes", "topic", "C.bootstrap.servers"]
    assert list(unused_properties(config, FRAMEWORK)) == unused
