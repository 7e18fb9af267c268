"""Metadata and tags of assets and events under ``connect-dagster/``."""

from typing import Literal

from dagster import JsonMetadataValue, UrlMetadataValue

from connect_dagster.orchestration._compat import NamespacedMetadataSet, NamespacedTagSet

NAMESPACE = "connect-dagster"


class KafkaConnectMetadataSet(NamespacedMetadataSet):
    """Metadata of connectors, their data and their events in addition to Dagster's standard keys.

    Args:
        cluster (Optional[str]): Name of the Connect cluster.
        connector (Optional[str]): Name of the connector.
        connector_class (Optional[str]): Its class.
        config (Optional[JsonMetadataValue]): Its configuration, secrets masked.
        rest_url (Optional[UrlMetadataValue]): URL of the connector.
        offsets_version (Optional[str]): On a materialisation, hash of its offsets.
    """

    cluster: str | None = None
    connector: str | None = None
    connector_class: str | None = None
    config: JsonMetadataValue | None = None
    rest_url: UrlMetadataValue | None = None
    offsets_version: str | None = None

    @classmethod
    def namespace(cls) -> str:
        return NAMESPACE


class KafkaConnectTagSet(NamespacedTagSet):
    """Tags of connectors, for asset selections such as ``tag:"connect-dagster/connector_type"="sink"``.

    Args:
        connector_type (Optional[Literal["source", "sink"]]): Which way the connector moves records.
        plugin (Optional[str]): Simple name of its class.
    """

    connector_type: Literal["source", "sink"] | None = None
    plugin: str | None = None

    @classmethod
    def namespace(cls) -> str:
        return NAMESPACE
