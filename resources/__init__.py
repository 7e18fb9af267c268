"""Resources of the shipped Dagster project, from environment variables, with defaults for one machine.

All begin with `CONNECT_DAGSTER_`:

- `REST_URL`: where the worker's REST API listens; `http://127.0.0.1:8083`.
- `BOOTSTRAP_SERVERS`: brokers of the worker, the sensors and the report; `127.0.0.1:9092`.
- `WORKER_PROPERTIES`: the worker's further configuration; `examples/distributed/connect-distributed.properties`.
- `SOURCE_FILE`, `SINK_FILE`: the files of the two connectors; `/tmp/test.txt`, `/tmp/test.sink.txt`.
- `TOPIC`: the topic between them; `connect-test`.
- `POLL_SECONDS`: seconds between two polls of the connectors; 30.
- `EVENT_SECONDS`: seconds between two events of an asset whose state did not change; 900.
"""

import os
from pathlib import Path

from connect_dagster import (
    ConnectWorkerResource,
    FileStreamSinkResource,
    FileStreamSourceResource,
    KafkaConnectWorkspace,
    KafkaPySparkResource,
)

EXAMPLE = Path(__file__).parent.parent / "examples" / "distributed" / "connect-distributed.properties"


def _setting(name: str, default: str) -> str:
    return os.environ.get(f"CONNECT_DAGSTER_{name}", default)


REST_URL = _setting("REST_URL", "http://127.0.0.1:8083")
BOOTSTRAP_SERVERS = _setting("BOOTSTRAP_SERVERS", "127.0.0.1:9092")
TOPIC = _setting("TOPIC", "connect-test")
POLL_SECONDS = int(_setting("POLL_SECONDS", "30"))
EVENT_SECONDS = int(_setting("EVENT_SECONDS", "900"))

kafka_connect = KafkaConnectWorkspace(url=REST_URL, bootstrap_servers=BOOTSTRAP_SERVERS)

connect_worker = ConnectWorkerResource(
    workspace=kafka_connect,
    worker_properties=_setting("WORKER_PROPERTIES", str(EXAMPLE)),
    bootstrap_servers=BOOTSTRAP_SERVERS,
    listener=REST_URL,
)

local_file_source = FileStreamSourceResource(
    workspace=kafka_connect,
    name="local-file-source",
    file=_setting("SOURCE_FILE", "/tmp/test.txt"),
    topic=TOPIC,
)

local_file_sink = FileStreamSinkResource(
    workspace=kafka_connect,
    name="local-file-sink",
    file=_setting("SINK_FILE", "/tmp/test.sink.txt"),
    topics=[TOPIC],
)

pyspark = KafkaPySparkResource(
    bootstrap_servers=BOOTSTRAP_SERVERS,
    spark_config={
        "spark.master": "local[2]",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
    },
)
