"""Resources of the shipped Dagster project, from environment variables, with defaults for one machine.

All begin with `CONNECT_DAGSTER_`:

- `REST_URL`: where the worker's REST API answers; `http://127.0.0.1:8083`.
- `BOOTSTRAP_SERVERS`: brokers the sensors ask, and in place of the worker file's; `127.0.0.1:9092`, the file's.
- `WORKER_PROPERTIES`: the worker's configuration file; `examples/file/connect-standalone.properties`.
- `CONNECTOR_FILES`: connectors it starts with, separated like `PATH`; `local-file-source` and `-sink` there.
- `WORKER_COMMAND`: what is run with these files, as in a shell; `connect-standalone` of this package.
- `POLL_SECONDS`: seconds between two looks at the connectors; 30.
"""

import os
import shlex
import sys
from pathlib import Path

from connect_dagster.orchestration import ConnectWorkerResource, KafkaConnectWorkspace

EXAMPLE = Path(__file__).parent.parent / "examples" / "file"
EXAMPLE_CONNECTORS = [EXAMPLE / "local-file-source.properties", EXAMPLE / "local-file-sink.properties"]


def _setting(name: str, default: str) -> str:
    return os.environ.get(f"CONNECT_DAGSTER_{name}", default)


CONNECTOR_FILES = _setting("CONNECTOR_FILES", os.pathsep.join(map(str, EXAMPLE_CONNECTORS))).split(os.pathsep)
POLL_SECONDS = int(_setting("POLL_SECONDS", "30"))

kafka_connect = KafkaConnectWorkspace(
    url=_setting("REST_URL", "http://127.0.0.1:8083"),
    bootstrap_servers=_setting("BOOTSTRAP_SERVERS", "127.0.0.1:9092"),
)

STANDALONE = [sys.executable, "-m", "connect_dagster.cli.standalone"]

connect_worker = ConnectWorkerResource(
    command=shlex.split(_setting("WORKER_COMMAND", shlex.join(STANDALONE))),
    workspace=kafka_connect,
    worker_properties=_setting("WORKER_PROPERTIES", str(EXAMPLE / "connect-standalone.properties")),
    connector_files=CONNECTOR_FILES,
    bootstrap_servers=os.environ.get("CONNECT_DAGSTER_BOOTSTRAP_SERVERS"),
)
