"""YAML components: connectors a cluster has, connectors that are declared, flows of MirrorMaker, and workers."""

from connect_dagster.orchestration.components.connector_component import KafkaConnectConnectorComponent
from connect_dagster.orchestration.components.mirror_component import MirrorFlowComponent
from connect_dagster.orchestration.components.worker_component import ConnectWorkerComponent
from connect_dagster.orchestration.components.workspace_component import KafkaConnectWorkspaceComponent

__all__ = [
    "ConnectWorkerComponent",
    "KafkaConnectConnectorComponent",
    "KafkaConnectWorkspaceComponent",
    "MirrorFlowComponent",
]
