"""The connectors of a Connect cluster as a value that can be stored: definitions are built from it without the cluster.

It goes to the processes of runs and into snapshot files, so secrets are masked before it is made.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict

from connect_dagster.client.connector_classes import Config
from connect_dagster.client.datasets import KafkaConnectConnectorProps
from connect_dagster.client.lineage import ConnectorLineage, connector_lineage
from connect_dagster.client.masking import mask_config, mask_text
from connect_dagster.client.plugin_secrets import PARALLEL_REQUESTS, with_secret_keys
from connect_dagster.client.rest_client import KafkaConnectClient
from connect_dagster.client.types import Connector, Direction
from connect_dagster.orchestration.cluster import ConnectCluster


class KafkaConnectConnectorData(BaseModel):
    """A connector as its cluster describes it.

    Attributes:
        name: Its name.
        type: Which way it moves records.
        config: Its configuration, secrets masked.
        topics: Topics it has used so far.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    type: Direction
    config: dict[str, str | None]
    topics: tuple[str, ...]


class KafkaConnectWorkspaceData(BaseModel):
    """A snapshot of a Connect cluster.

    Attributes:
        cluster: Name of the cluster.
        rest_url: Its REST address.
        bootstrap_servers: The Kafka brokers of its topics, when known.
        data_key_prefix: Prefix of the keys of its data.
        connectors: Its connectors, by name in order.
        kafka_cluster: Alias of the workers' Kafka cluster, when its topics are named by it.
    """

    model_config = ConfigDict(frozen=True)

    cluster: str
    rest_url: str
    bootstrap_servers: str | None
    connectors: tuple[KafkaConnectConnectorData, ...]
    data_key_prefix: tuple[str, ...] = ()
    kafka_cluster: str | None = None

    @classmethod
    def fetch(
        cls,
        client: KafkaConnectClient,
        cluster: str,
        bootstrap_servers: str | None = None,
        data_key_prefix: Sequence[str] = (),
        kafka_cluster: str | None = None,
    ) -> "KafkaConnectWorkspaceData":
        """Request all connectors at once, then the keys of each class and the topics of each connector.

        Raises:
            KafkaConnectError: The request fails.
        """
        found = with_secret_keys(client, client.connectors())
        with ThreadPoolExecutor(PARALLEL_REQUESTS) as pool:
            topics = dict(zip(found, pool.map(client.active_topics, found), strict=True))
        connectors = tuple(
            KafkaConnectConnectorData(
                name=name,
                type=connector.status.type,
                config=mask_config(connector.info.config, connector.secret_keys),
                topics=tuple(topics[name]),
            )
            for name, connector in found.items()
        )
        return cls(
            cluster=cluster,
            rest_url=mask_text(client.url),
            bootstrap_servers=bootstrap_servers,
            connectors=connectors,
            data_key_prefix=tuple(data_key_prefix),
            kafka_cluster=kafka_cluster,
        )

    def connector_props(self) -> list[KafkaConnectConnectorProps]:
        """Return the props of the connectors and of their data."""
        return [
            connector_props(
                self.cluster,
                connector.config,
                connector_lineage({**connector.config, "name": connector.name}, connector.topics, connector.type),
                rest_url=self.rest_url,
                bootstrap_servers=self.bootstrap_servers,
                data_key_prefix=self.data_key_prefix,
                kafka_cluster=self.kafka_cluster,
            )
            for connector in self.connectors
        ]


def connector_props(
    cluster: str,
    config: Config,
    lineage: ConnectorLineage,
    *,
    rest_url: str | None,
    bootstrap_servers: str | None,
    data_key_prefix: Sequence[str],
    kafka_cluster: str | None,
) -> KafkaConnectConnectorProps:
    """Return the props of a connector.

    Args:
        cluster: Name of the Connect cluster.
        config: The connector's configuration; its secrets are masked here.
        lineage: The data it reads and writes.
        rest_url: REST address of the cluster, when known.
        bootstrap_servers: The brokers of its topics, when known.
        data_key_prefix: Prefix of the keys of its data.
        kafka_cluster: Alias of the Kafka cluster of its topics, when they are named by it.
    """
    located = lineage.located(bootstrap_servers, data_key_prefix, kafka_cluster)
    return KafkaConnectConnectorProps(
        cluster=cluster,
        name=lineage.name,
        type=lineage.direction,
        config=mask_config(config),
        system=lineage.system,
        inputs=located.inputs,
        outputs=located.outputs,
        rest_url=connector_url(rest_url, lineage.name) if rest_url else None,
    )


def live_props(workspace: ConnectCluster, connector: Connector) -> KafkaConnectConnectorProps:
    """Return the props of a connector of the cluster, without topics that its configuration does not name.

    Args:
        workspace: The cluster, its fields resolved.
        connector: The connector from its response.
    """
    config = mask_config(connector.info.config, connector.secret_keys)
    return connector_props(
        workspace.cluster,
        config,
        connector_lineage({**connector.info.config, "name": connector.name}, (), connector.status.type),
        rest_url=workspace.url,
        bootstrap_servers=workspace.bootstrap_servers,
        data_key_prefix=workspace.data_key_prefix,
        kafka_cluster=workspace.kafka_cluster,
    )


def connector_url(rest_url: str, connector: str) -> str:
    """Return the URL of a connector, without credentials."""
    return f"{mask_text(rest_url).rstrip('/')}/connectors/{quote(connector, safe='')}"
