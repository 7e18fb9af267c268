"""Clusters and flows of mm2.properties."""

from __future__ import annotations

import pytest

from connect_dagster.connectors.mirror.dedicated_config import DedicatedConfig
from connect_dagster.connectors.mirror.flow import Flow
from connect_dagster.errors import ConfigError
from connect_dagster.java.properties import parse_properties

QUIET = "emit.heartbeats.enabled = false\n"


def config(text: str, clusters: str = "A, B") -> DedicatedConfig:
    return DedicatedConfig.parse(parse_properties(f"clusters = {clusters}\n{text}", "mm2.properties"))


@pytest.mark.parametrize(
    ("text", "clusters", "expected"),
    [
        # Both directions emit heartbeats unless that is switched off.
        ("", "A,B", ["A->B", "B->A"]),
        ("A->B.enabled = true", "A, B", ["A->B", "B->A"]),
        ("A->B.enabled = true\n" + QUIET, "A, B", ["A->B"]),
        ("A->B.enabled = true\nB->A.emit.heartbeats.enabled = false", "A, B", ["A->B"]),
        # The flow's own option goes before the one for all.
        (QUIET + "B->A.emit.heartbeats.enabled = true", "A, B", ["B->A"]),
        # Enabled flows run without heartbeats, too.
        ("A->B.enabled = true\nA->B.emit.heartbeats.enabled = false", "A, B", ["A->B", "B->A"]),
        ("A->B.enabled = TRUE\n" + QUIET, "A, B", ["A->B"]),
        (
            QUIET + "A->B.enabled = true\nC->B.enabled = true\nC->A.enabled = false",
            "A, B, C",
            ["A->B", "C->B"],
        ),
        ("", "A, B, C", ["A->B", "A->C", "B->A", "B->C", "C->A", "C->B"]),
        # An alias may have dots.
        (QUIET + "us.east->eu.west.enabled = true", "us.east, eu.west, us", ["us.east->eu.west"]),
        (QUIET + "A->B.enabled = true", "A, B, A", ["A->B"]),
    ],
)
def test_flows(text: str, clusters: str, expected: list[str]) -> None:
    assert [str(flow) for flow in config(text, clusters).flows()] == expected


@pytest.mark.parametrize(
    ("targets", "expected"),
    [
        (("B",), ["A->B", "C->B"]),
        (("C", "A"), ["A->C", "B->A", "B->C", "C->A"]),
        ((), ["A->B", "A->C", "B->A", "B->C", "C->A", "C->B"]),
    ],
)
def test_flows_to_some_clusters(targets: tuple[str, ...], expected: list[str]) -> None:
    assert [str(flow) for flow in config("", "A, B, C").flows(targets)] == expected


BLANK = "sets no property of a flow: names end at a blank. Write it without blanks before the value"
ITSELF = "A->A.enabled is for a flow from a cluster to itself, which does not exist."


@pytest.mark.parametrize(
    ("text", "targets", "message"),
    [
        (QUIET, (), "No source->target replication flows."),
        (QUIET + "A->B.enabled = true", ("A",), "No source->target replication flows."),
        ("", ("B", "C"), "--clusters names C, which is not in clusters=A, B."),
        ("A->A.enabled = true", (), ITSELF),
        ("A -> B.enabled = true", (), f"The line 'A = -> B.enabled = true' {BLANK}"),
        ("A ->B.enabled = true", (), f"The line 'A = ->B.enabled = true' {BLANK}"),
        ("A-> B.enabled = true", (), f"The line 'A-> = B.enabled = true' {BLANK}"),
        ("A->B .enabled = true", (), f"The line 'A->B = .enabled = true' {BLANK}"),
        ("A->B = true", (), f"The line 'A->B = true' {BLANK}"),
        (
            "A->B.enabled = ture",
            (),
            "Invalid value ture for configuration A->B.enabled: Expected value to be either true or false",
        ),
    ],
)
def test_one_error_for_each_problem(text: str, targets: tuple[str, ...], message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        config(text).flows(targets)
    assert str(raised.value).startswith(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", 'Missing required configuration "clusters" which has no default value.'),
        ("cluster = A", 'Missing required configuration "clusters" which has no default value.'),
        ("clusters = A,,B", "Configuration 'clusters' values must not be empty."),
        (
            "clusters = A,B\ndedicated.mode.enable.internal.rest = 1",
            "Invalid value 1 for configuration dedicated.mode.enable.internal.rest: Expected value to be either true "
            "or false",
        ),
    ],
)
def test_options_of_the_process(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        DedicatedConfig.parse(parse_properties(text, "mm2.properties"))
    assert str(raised.value) == message


def test_no_clusters_are_no_flows() -> None:
    with pytest.raises(ConfigError, match="No source->target replication flows"):
        config("", "").flows()


def test_the_internal_rest_api() -> None:
    assert not config("").internal_rest
    text = """
        dedicated.mode.enable.internal.rest = true
        listeners = https://localhost:8080
        listeners.https.ssl.keystore.location = k
        rest.advertised.host.name = h
        ssl.truststore.location = t
        A.ssl.truststore.location = a
    """
    found = config(text)
    assert found.internal_rest
    worker = {"group.id": "A-mm2", "listeners": "l", "ssl.keystore.location": "a", "ssl.truststore.location": "a"}
    assert found.with_rest(worker) == {
        "group.id": "A-mm2",
        "listeners": "https://localhost:8080",
        "listeners.https.ssl.keystore.location": "k",
        "rest.advertised.host.name": "h",
        "ssl.truststore.location": "t",
    }


@pytest.mark.parametrize(
    ("flow", "namespace"),
    [
        (Flow("A", "B"), "A/B"),
        (Flow("us east", "a/b"), "us%20east/a%2Fb"),
        (Flow("a+b*c~d", "ü-._"), "a%2Bb*c%7Ed/%C3%BC-._"),
    ],
)
def test_names_of_flows(flow: Flow, namespace: str) -> None:
    assert flow.rest_namespace == namespace
    assert flow.back.back == flow
    assert flow.prefix == f"{flow}."
