"""The demo's files, and the variables by which Dagster finds them."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from connect_dagster.client.rest_client import KafkaConnectClient
from connect_dagster.orchestration.dagster_dev import DagsterDev

SOURCE = "local-file-source"
SINK = "local-file-sink"
TOPIC = "connect-test"

WORKER = """\
group.id=connect-demo
key.converter=org.apache.kafka.connect.json.JsonConverter
value.converter=org.apache.kafka.connect.json.JsonConverter
config.storage.topic=connect-configs
config.storage.replication.factor=1
offset.storage.topic=connect-offsets
offset.storage.replication.factor=1
status.storage.topic=connect-status
status.storage.replication.factor=1
offset.flush.interval.ms=1000
"""


@dataclass(frozen=True, slots=True)
class DemoProject:
    """Where everything of one demo is.

    Attributes:
        root: The checkout, with `workspace.yaml` and `dagster.yaml`.
        directory: The demo's own directory, absolute.
        bootstrap_servers: The broker.
        rest_port: Where the worker listens.
        ui_port: Where Dagster's UI listens.
    """

    root: Path
    directory: Path
    bootstrap_servers: str
    rest_port: int
    ui_port: int

    @property
    def access_log(self) -> Path:
        """File that the source reads."""
        return self.directory / "access.log"

    @property
    def sink_file(self) -> Path:
        """File that the sink writes."""
        return self.directory / "test.sink.txt"

    @property
    def home(self) -> Path:
        """DAGSTER_HOME."""
        return self.directory / "dagster"

    @property
    def rest_url(self) -> str:
        """The worker's REST API."""
        return f"http://127.0.0.1:{self.rest_port}"

    def client(self) -> KafkaConnectClient:
        """Return a client for the worker."""
        return KafkaConnectClient(self.rest_url, timeout=5.0)

    def dagster(self) -> DagsterDev:
        """Dagster for this project; not started."""
        return DagsterDev(self.home, self.root / "workspace.yaml", self.ui_port, self._environment())

    def write(self) -> None:
        """Write all files; the directory exists."""
        self.home.mkdir()
        shutil.copy(self.root / "dagster.yaml", self.home)
        self._worker_file.write_text(WORKER)

    @property
    def _worker_file(self) -> Path:
        return self.directory / "connect-distributed.properties"

    def _environment(self) -> dict[str, str]:
        """Return the variables that `resources` reads."""
        return {
            "CONNECT_DAGSTER_REST_URL": self.rest_url,
            "CONNECT_DAGSTER_BOOTSTRAP_SERVERS": self.bootstrap_servers,
            "CONNECT_DAGSTER_WORKER_PROPERTIES": str(self._worker_file),
            "CONNECT_DAGSTER_SOURCE_FILE": str(self.access_log),
            "CONNECT_DAGSTER_SINK_FILE": str(self.sink_file),
            "CONNECT_DAGSTER_TOPIC": TOPIC,
            "CONNECT_DAGSTER_POLL_SECONDS": "5",
            "CONNECT_DAGSTER_EVENT_SECONDS": "5",
        }
