"""The reference project's batch asset reads what connectors wrote, through dagster-pyspark."""

import json
import os
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest
from confluent_kafka import Producer
from dagster import AssetKey, DagsterInstance, TableMetadataValue

from examples.demo.access_log import access_log_lines
from tests.conftest import Broker
from tests.shipped_project import ROOT

pytestmark = pytest.mark.nightly

LINES = list(islice(access_log_lines(), 200))
MATERIALIZE = [
    sys.executable,
    "-m",
    "dagster",
    "asset",
    "materialize",
    "-m",
    "assets",
    "--select",
    "requests_by_status",
]


def test_a_batch_asset_reads_a_topic_as_a_frame(broker: Broker, topic_prefix: str, tmp_path: Path) -> None:
    topic = f"{topic_prefix}log"
    _produce(broker, topic, [*LINES, "no log line"])
    # A process of its own, which knows nothing of the Spark session that other tests have in this one.
    environment = {
        **{name: value for name, value in os.environ.items() if "SPARK" not in name},
        "DAGSTER_HOME": str(tmp_path),
        "CONNECT_DAGSTER_BOOTSTRAP_SERVERS": broker.bootstrap_servers,
        "CONNECT_DAGSTER_TOPIC": topic,
    }
    done = subprocess.run(MATERIALIZE, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    with DagsterInstance.from_config(str(tmp_path)) as instance:
        event = instance.get_latest_materialization_event(AssetKey("requests_by_status"))
    assert event is not None
    assert event.asset_materialization is not None
    metadata = event.asset_materialization.metadata
    table = metadata["requests_by_status"]
    assert isinstance(table, TableMetadataValue)
    counted = {record.data.get("status"): record.data["requests"] for record in table.records}
    codes = {line.split('" ')[1].split()[0] for line in LINES}
    assert counted == {None: 1} | {code: sum(f'" {code} ' in line for line in LINES) for code in codes}
    assert metadata["dagster/row_count"].value == len(LINES) + 1


def _produce(broker: Broker, topic: str, lines: list[str]) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    schema = {"type": "string", "optional": False}
    for line in lines:
        producer.produce(topic, json.dumps({"schema": schema, "payload": line}))
    assert producer.flush(30) == 0
