"""`connect-dagster preview` of sources: their first records as they would be sent, and nothing in Kafka."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from tests.conftest import Broker
from tests.integration.worker_process import COMMON_DEFAULTS, QUICK_JVM, write_properties

COMMAND = Path(sys.executable).with_name("connect-dagster")
STRINGS = "org.apache.kafka.connect.storage.StringConverter"
CHAIN = {
    "connector.class": "FileStreamSource",
    "value.converter": STRINGS,
    "key.converter": STRINGS,
    "transforms": "line,number,drop",
    "transforms.line.type": "org.apache.kafka.connect.transforms.HoistField$Value",
    "transforms.line.field": "n",
    "transforms.number.type": "org.apache.kafka.connect.transforms.Cast$Value",
    "transforms.number.spec": "n:int32",
    "transforms.drop.type": "SqlTransform",
    "transforms.drop.sql": "SELECT value.n AS n FROM record WHERE value.n <> 2",
}


def preview(
    folder: Path, broker: Broker, config: dict[str, str], *words: str, code: int = 0
) -> tuple[list[dict[str, Any]], str]:
    """Run the command; answers the lines on its output, and the other output."""
    worker = {"bootstrap.servers": broker.bootstrap_servers, **COMMON_DEFAULTS, **QUICK_JVM}
    files = [
        write_properties(folder / "worker.properties", worker),
        write_properties(folder / "source.properties", {"name": "source", **config}),
    ]
    command: list[str | Path] = [COMMAND, "preview", *files, *words]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert ran.returncode == code, ran.stdout + ran.stderr
    return [json.loads(line) for line in ran.stdout.splitlines()], ran.stderr


def test_each_record_would_be_sent_fails_or_is_dropped(broker: Broker, topic_prefix: str, tmp_path: Path) -> None:
    file = tmp_path / "in.txt"
    file.write_text("1\n2\nthree\n4\n5\n6\n")
    config = {**CHAIN, "file": str(file), "topic": topic_prefix, "errors.tolerance": "all"}

    lines, told = preview(tmp_path, broker, config, "--max-messages", "5", code=1)

    sent = [line for line in lines if line["outcome"] == "sent"]
    assert [(line["topic"], line["key"], line["value"]) for line in sent] == [
        (topic_prefix, None, f"Struct{{n={number}}}") for number in (1, 4, 5)
    ]
    (failed,) = lines[3:]
    assert (failed["outcome"], failed["topic"], failed["stage"]) == ("failed", topic_prefix, "TRANSFORMATION")
    assert failed["value"] == "three"
    assert failed["class"] == "org.apache.kafka.connect.transforms.Cast$Value"
    assert json.loads(failed["source_partition"]) == {"filename": str(file)}
    assert told.splitlines()[-1] == "3 for Kafka, 1 dropped, 1 failed: the task would skip them (errors.tolerance)"
    topics = AdminClient({"bootstrap.servers": broker.bootstrap_servers}).list_topics(timeout=20).topics
    assert topic_prefix not in topics


@pytest.mark.nightly
def test_a_connector_that_writes_to_kafka_itself_has_none(broker: Broker, tmp_path: Path) -> None:
    config = {
        "connector.class": "org.apache.kafka.connect.mirror.MirrorHeartbeatConnector",
        "source.cluster.alias": "a",
        "target.cluster.alias": "b",
        "source.cluster.bootstrap.servers": broker.bootstrap_servers,
        "target.cluster.bootstrap.servers": broker.bootstrap_servers,
    }
    told = preview(tmp_path, broker, config, code=2)[1].splitlines()[-1]
    assert told.endswith("MirrorHeartbeatConnector writes to Kafka itself while it reads: it has no preview.")


@pytest.mark.nightly
def test_a_quiet_source_ends_with_its_time(broker: Broker, topic_prefix: str, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("alone\n")
    config = {"connector.class": "FileStreamSource", "file": str(tmp_path / "in.txt"), "topic": topic_prefix}
    lines, told = preview(tmp_path, broker, config, "--timeout", "3")
    assert [json.loads(line["value"])["payload"] for line in lines] == ["alone"]
    assert told.splitlines()[-1] == "1 for Kafka, 0 dropped, 0 failed"
