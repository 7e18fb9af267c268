"""Scaffolders of the components: ``dg scaffold defs`` writes a ``defs.yaml`` that loads unchanged."""

from typing import Any

import dagster as dg
from pydantic import BaseModel, Field

from connect_dagster.orchestration._compat import scaffold_component

REST_URL = "http://127.0.0.1:8083"
BOOTSTRAP_SERVERS = "127.0.0.1:9092"
SECOND_SERVERS = "127.0.0.1:9192"


class WorkspaceParams(BaseModel):
    """Parameters of ``dg scaffold defs`` for the component of a cluster."""

    url: str = Field(default=REST_URL, description="REST address of a worker.")
    cluster: str = Field(default="local", description="Name of the cluster.")

    def workspace(self) -> dict[str, Any]:
        """Return the cluster as YAML attributes."""
        return {"url": self.url, "cluster": self.cluster}


class WorkspaceScaffolder(dg.Scaffolder[WorkspaceParams]):
    """Scaffolds the component of a cluster's connectors."""

    @classmethod
    def get_scaffold_params(cls) -> type[WorkspaceParams]:
        return WorkspaceParams

    def scaffold(self, request: dg.ScaffoldRequest[WorkspaceParams]) -> None:
        scaffold_component(request, {"workspace": request.params.workspace()})


class ConnectorParams(WorkspaceParams):
    """Parameters for declared connectors."""

    name: str = Field(default="local-file-source", description="Name of the connector.")
    connector_class: str = Field(default="FileStreamSource", description="Its plugin.")


class ConnectorScaffolder(dg.Scaffolder[ConnectorParams]):
    """Scaffolds one declared connector."""

    @classmethod
    def get_scaffold_params(cls) -> type[ConnectorParams]:
        return ConnectorParams

    def scaffold(self, request: dg.ScaffoldRequest[ConnectorParams]) -> None:
        connector = {
            "name": request.params.name,
            "connector_class": request.params.connector_class,
            "config": {"file": "/tmp/test.txt", "topic": "connect-test"},
        }
        scaffold_component(request, {"workspace": request.params.workspace(), "connectors": [connector]})


class WorkerParams(WorkspaceParams):
    """Parameters for workers."""

    bootstrap_servers: str = Field(default=BOOTSTRAP_SERVERS, description="Kafka brokers.")
    group_id: str = Field(default="connect", description="The group the workers join.")


class WorkerScaffolder(dg.Scaffolder[WorkerParams]):
    """Scaffolds a worker of a group."""

    @classmethod
    def get_scaffold_params(cls) -> type[WorkerParams]:
        return WorkerParams

    def scaffold(self, request: dg.ScaffoldRequest[WorkerParams]) -> None:
        group = request.params.group_id
        worker = {
            "bootstrap_servers": request.params.bootstrap_servers,
            "listener": request.params.url,
            "group_id": group,
            **{f"{what}_storage_topic": f"{group}-{topic}" for what, topic in _TOPICS.items()},
            "properties": {f"{part}.converter": _JSON for part in ("key", "value")},
        }
        scaffold_component(request, {"workspace": request.params.workspace(), "worker": worker})


class MirrorParams(BaseModel):
    """Parameters for a flow of MirrorMaker."""

    source: str = Field(default="source", description="Alias of the cluster that is mirrored.")
    source_bootstrap_servers: str = Field(default=BOOTSTRAP_SERVERS, description="Its brokers.")
    target: str = Field(default="target", description="Alias of the cluster that receives its records.")
    bootstrap_servers: str = Field(default=SECOND_SERVERS, description="Brokers of the target.")
    url: str = Field(default=REST_URL, description="REST address of a worker on the target.")


class MirrorScaffolder(dg.Scaffolder[MirrorParams]):
    """Scaffolds a flow of all topics and groups."""

    @classmethod
    def get_scaffold_params(cls) -> type[MirrorParams]:
        return MirrorParams

    def scaffold(self, request: dg.ScaffoldRequest[MirrorParams]) -> None:
        given = request.params
        source = {"kafka_cluster": given.source, "bootstrap_servers": given.source_bootstrap_servers}
        target = {"url": given.url, "kafka_cluster": given.target, "bootstrap_servers": given.bootstrap_servers}
        scaffold_component(request, {"source": source, "target": target, "topics": [".*"], "groups": [".*"]})


_TOPICS = {"config": "configs", "offset": "offsets", "status": "status"}
_JSON = "org.apache.kafka.connect.json.JsonConverter"
