"""Configurations of MirrorMaker as Java 4.3.1 defines, checks and makes them, beside ours."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from connect_dagster.connectors.mirror.checkpoint_config import MirrorCheckpointConfig, MirrorCheckpointTaskConfig
from connect_dagster.connectors.mirror.client_settings import CLUSTER_KEYS, Role, Side
from connect_dagster.connectors.mirror.connector_classes import CONNECTORS, simple_name
from connect_dagster.connectors.mirror.dedicated_config import DedicatedConfig
from connect_dagster.connectors.mirror.flow_settings import connector_settings, worker_settings
from connect_dagster.connectors.mirror.heartbeat_config import MirrorHeartbeatConfig
from connect_dagster.connectors.mirror.shared_options import MirrorConnectorConfig
from connect_dagster.connectors.mirror.source_config import MirrorSourceConfig, MirrorSourceTaskConfig
from connect_dagster.embedded.jars import resolve
from connect_dagster.embedded.java import find_java
from connect_dagster.errors import ConfigError
from connect_dagster.kafka.settings.java_settings import ClientKind
from connect_dagster.worker.config.connector import ConnectorConfig
from tests.conformance.mirror_files_by_chance import mirror_file
from tests.golden_answers import Golden, digest

PROGRAM = Path(__file__).with_name("MirrorConfigsInJava.java")
FRAMEWORK = tuple(key.name for key in ConnectorConfig.table())
FILES = 40
CONFIGS: Mapping[str, type[MirrorConnectorConfig]] = {
    "MirrorSourceConnector": MirrorSourceConfig,
    "MirrorCheckpointConnector": MirrorCheckpointConfig,
    "MirrorHeartbeatConnector": MirrorHeartbeatConfig,
}
TASKS: Mapping[str, type[MirrorConnectorConfig]] = {
    "MirrorSourceTaskConfig": MirrorSourceTaskConfig,
    "MirrorCheckpointTaskConfig": MirrorCheckpointTaskConfig,
    "MirrorHeartbeatConfig": MirrorHeartbeatConfig,
}
LEAST = {"name": "mm", "connector.class": "C", "source.cluster.alias": "A", "target.cluster.alias": "B"}
TASK = LEAST | {"task.assigned.partitions": "t-0", "task.assigned.groups": "g"}
WRONG: tuple[tuple[str, dict[str, str]], ...] = (
    ("MirrorSourceConnector", {"exactly.once.support": "required"}),
    ("MirrorSourceConnector", {"exactly.once.support": "required", "consumer.isolation.level": "read_committed"}),
    ("MirrorSourceConnector", {"exactly.once.support": "REQUIRED"}),
    ("MirrorSourceConnector", {"emit.offset-syncs.enabled": "false", "offset-syncs.topic.location": "target"}),
    ("MirrorSourceConnector", {"emit.offset-syncs.enabled": "FALSE", "offset-syncs.topic.location": "target"}),
    ("MirrorSourceConnector", {"emit.offset-syncs.enabled": "false", "offset-syncs-x": "1"}),
    ("MirrorSourceConnector", {"offset-syncs.topic.location": "both", "topics": "a,a", "metric.names.formats": ""}),
    ("MirrorSourceConnector", {"topics": "a,,b", "metric.names.formats": "old,new", "offset.lag.max": "x"}),
    ("MirrorCheckpointConnector", {"emit.checkpoints.enabled": "false", "emit.offset-syncs.enabled": "false"}),
    ("MirrorCheckpointConnector", {"emit.checkpoints.enabled": "false", "enabled": "false"}),
    ("MirrorCheckpointConnector", {"emit.checkpoints.enabled": "False", "groups.exclude": "g,g"}),
    ("MirrorHeartbeatConnector", {"heartbeats.topic.replication.factor": "40000", "security.protocol": "TLS"}),
    ("MirrorHeartbeatConnector", {"emit.heartbeats.interval.seconds": "1.5", "enabled": "yes"}),
)
CLIENTS: tuple[dict[str, str], ...] = (
    {},
    {"task.index": "3", "consumer.client.id": "own", "source.admin.client.id": "nearer", "admin.client.id": "far"},
    {
        "source.cluster.bootstrap.servers": "a:1",
        "source.cluster.ssl.protocol": "TLS",
        "source.cluster.request.timeout.ms": "1",
        "target.cluster.bootstrap.servers": "b:1",
        "target.cluster.sasl.mechanism": "PLAIN",
        "consumer.fetch.min.bytes": "1",
        "source.consumer.fetch.min.bytes": "2",
        "target.consumer.auto.offset.reset": "latest",
        "consumer.enable.auto.commit": "true",
        "producer.acks": "1",
        "source.producer.bootstrap.servers": "c:1",
        "target.admin.retries": "3",
        "bootstrap.servers": "d:1",
    },
)


QUESTIONS: Mapping[str, Mapping[str, Any]] = {
    "definitions": {"kind": "definitions"},
    **{f"file {seed}": {"kind": "flows", "properties": mirror_file(seed)} for seed in range(FILES)},
    **{
        f"errors {case}": {"kind": "errors", "connector": name, "properties": LEAST | given}
        for case, (name, given) in enumerate(WRONG)
    },
    **{
        f"clients {case} {name}": {"kind": "clients", "config": name, "properties": TASK | given}
        for case, given in enumerate(CLIENTS)
        for name in TASKS
    },
}

Answers = Mapping[str, Any]


@pytest.fixture(scope="module")
def java(golden: Golden) -> Answers:
    """Java's answers to all questions, from one JVM."""
    key = f"configurations {digest(QUESTIONS)}"
    return dict(golden.answer(key, lambda: {name: _recorded(name, answer) for name, answer in _ask(QUESTIONS)}))


def test_definitions(java: Answers) -> None:
    java = java["definitions"]
    assert set(java["cluster"]) == CLUSTER_KEYS
    for name, config in CONFIGS.items():
        defined = {key["name"]: key for key in java[name] if key["name"] not in FRAMEWORK}
        ours = {info["name"]: info for info in config.key_infos() if info["name"] != "use.defaults.from"}
        assert _in_order(ours) == _in_order(defined)
        assert {key: _comparable(info) for key, info in ours.items()} == {
            key: _comparable(info) for key, info in defined.items()
        }


@pytest.mark.parametrize("seed", range(FILES))
def test_flows_of_generated_files(java: Answers, seed: int) -> None:
    assert _recorded(f"file {seed}", _our_flows(mirror_file(seed))) == java[f"file {seed}"]


@pytest.mark.parametrize("case", range(len(WRONG)))
def test_errors(java: Answers, case: int) -> None:
    name, given = WRONG[case]
    values = CONFIGS[name].validate_all(LEAST | given)
    assert {value.name: value.errors for value in values if value.errors} == java[f"errors {case}"]


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("case", range(len(CLIENTS)))
def test_settings_of_clients(java: Answers, name: str, case: int) -> None:
    config = TASKS[name].parse(TASK | CLIENTS[case])
    ours = {
        f"{side.value} {kind.value}": config.client_settings(Role("role", side, kind))
        for side in Side
        for kind in ClientKind
    }
    assert ours == java[f"clients {case} {name}"]


def _our_flows(properties: dict[str, str]) -> dict[str, Any]:
    try:
        flows = DedicatedConfig.parse(properties).flows()
    except ConfigError:
        flows = []
    return {
        str(flow): {
            "worker": worker_settings(properties, flow, dict),
            "connectors": {
                simple_name(connector): connector_settings(properties, flow, connector, FRAMEWORK)
                for connector in CONNECTORS
            },
        }
        for flow in flows
    }


def _in_order(keys: Mapping[str, Any]) -> list[str]:
    """Return the keys without those of TLS and SASL, whose order among each other is ours."""
    return [key for key in keys if not key.startswith(("ssl.", "sasl."))]


def _recorded(name: str, answer: Any) -> Any:
    """Return what is recorded of an answer: that of two files as it is, of the others a digest of each flow."""
    if not name.startswith("file ") or name in ("file 0", "file 2"):
        return answer
    return {flow: digest(found) for flow, found in answer.items()}


def _comparable(info: Mapping[str, Any]) -> dict[str, Any]:
    """Return what Java and we say of a key alike: documentation is ours, and lists have no blanks."""
    found = {name: value for name, value in info.items() if name != "documentation"}
    return {**found, "default_value": (info["default_value"] or "").replace(" ", "")}


def _ask(questions: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, Any]]:
    jars = [str(jar) for name in ("java-mirror", "java-connect") for jar in resolve(name)]
    command = [str(find_java()), "-cp", os.pathsep.join(jars), str(PROGRAM)]
    asked = "\n".join(json.dumps(question) for question in questions.values())
    done = subprocess.run(command, input=asked.encode(), capture_output=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr.decode()[-5000:]
    return list(zip(questions, map(json.loads, done.stdout.decode().splitlines()), strict=True))
