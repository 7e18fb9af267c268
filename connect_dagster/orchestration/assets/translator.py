"""The translator of connectors and their data into assets, which users subclass."""

import hashlib
import json
import re
from collections.abc import Mapping
from functools import singledispatchmethod
from pathlib import Path
from typing import Literal

from dagster import AssetKey, AssetSpec, JsonMetadataValue, UrlMetadataValue

from connect_dagster.client.datasets import (
    KafkaConnectBucketProps,
    KafkaConnectConnectorProps,
    KafkaConnectDatasetProps,
    KafkaConnectFileProps,
    KafkaConnectTableProps,
    KafkaConnectTopicProps,
)
from connect_dagster.client.types import Direction
from connect_dagster.orchestration._compat import TableMetadataSet, UriMetadataSet
from connect_dagster.orchestration.assets.keys import (
    GROUP_NAME,
    bucket_key,
    connector_key,
    file_key,
    table_key,
    topic_key,
)
from connect_dagster.orchestration.assets.metadata_sets import KafkaConnectMetadataSet, KafkaConnectTagSet

_LONGEST_TAG = 63
_TYPES: Mapping[Direction, Literal["source", "sink"]] = {Direction.SOURCE: "source", Direction.SINK: "sink"}


class DagsterKafkaConnectTranslator:
    """Makes the asset of a connector, and of each topic, table, bucket and file it reads or writes.

    Override :meth:`get_asset_spec` to change keys, groups, owners, descriptions or anything else. Keys have to
    follow from the props alone, because definitions and sensors both ask for them.

    Attributes:
        allow_equal_keys: Whether one key may stand for data on several servers. Set it in a subclass where they are
            one, as a database with two addresses; otherwise declared connectors with such data are refused.

    Examples:
        .. code-block:: python

            import dagster as dg
            from connect_dagster import DagsterKafkaConnectTranslator, KafkaConnectConnectorProps

            class OwnedByShop(DagsterKafkaConnectTranslator):
                def get_asset_spec(self, props):
                    spec = super().get_asset_spec(props)
                    if isinstance(props, KafkaConnectConnectorProps):
                        spec = spec.replace_attributes(owners=["team:shop"])
                    return spec
    """

    allow_equal_keys: bool = False

    def get_asset_spec(self, props: KafkaConnectConnectorProps | KafkaConnectDatasetProps) -> AssetSpec:
        """Return the asset of a connector, or of data at either end of one.

        A connector's asset depends on the data it reads. The specs of the data it writes get their dependency on the
        connector when the graph is built.

        Args:
            props (KafkaConnectConnectorProps | KafkaConnectDatasetProps): The connector, or the data.

        Returns:
            AssetSpec: The asset.
        """
        return self._spec(props)

    @singledispatchmethod
    def _spec(self, props: object) -> AssetSpec:
        raise TypeError(f"No asset is defined for {type(props).__name__}")

    @_spec.register
    def _connector(self, props: KafkaConnectConnectorProps) -> AssetSpec:
        metadata = KafkaConnectMetadataSet(
            cluster=props.cluster,
            connector=props.name,
            connector_class=props.connector_class,
            config=JsonMetadataValue(dict(props.config)),
            rest_url=UrlMetadataValue(props.rest_url) if props.rest_url else None,
        )
        tags = KafkaConnectTagSet(
            connector_type=_TYPES.get(props.type),
            plugin=tag_value(props.connector_class.rpartition(".")[2]),
        )
        return AssetSpec(
            connector_key(props.cluster, props.name),
            deps=[self.get_asset_spec(dataset).key for dataset in props.inputs],
            description=f"{props.type.value.capitalize()} connector `{props.name}` of `{props.connector_class}`.",
            metadata={**metadata, **UriMetadataSet(uri=props.rest_url)} if props.rest_url else {**metadata},
            group_name=GROUP_NAME,
            kinds={"kafka", *([props.system] if props.system else [])},
            tags={**tags},
            code_version=config_version(props.config),
        )

    @_spec.register
    def _topic(self, props: KafkaConnectTopicProps) -> AssetSpec:
        uri = f"kafka://{props.bootstrap_servers}/{props.topic}" if props.bootstrap_servers else None
        where = f" of cluster `{props.cluster}`" if props.cluster else ""
        return AssetSpec(
            data_key(props, topic_key(props.topic, props.cluster)),
            description=f"Kafka topic `{props.topic}`{where}.",
            metadata={**UriMetadataSet(uri=uri)} if uri else {},
            group_name=GROUP_NAME,
            kinds={"kafka"},
        )

    @_spec.register
    def _table(self, props: KafkaConnectTableProps) -> AssetSpec:
        return AssetSpec(
            data_key(props, table_key(props.system, props.path)),
            description=f"`{props.table_name}` in {props.system}.",
            metadata={**TableMetadataSet(table_name=props.table_name, storage_kind=props.system)},
            group_name=GROUP_NAME,
            kinds={props.system, "table"},
        )

    @_spec.register
    def _bucket(self, props: KafkaConnectBucketProps) -> AssetSpec:
        return AssetSpec(
            data_key(props, bucket_key(props.system, props.bucket, props.prefix)),
            description=f"Objects of bucket `{props.bucket}` below `{props.prefix}`.",
            metadata={**UriMetadataSet(uri=props.uri), **TableMetadataSet(storage_kind=props.system)},
            group_name=GROUP_NAME,
            kinds={props.system},
        )

    @_spec.register
    def _file(self, props: KafkaConnectFileProps) -> AssetSpec:
        path = Path(props.file).absolute()
        return AssetSpec(
            data_key(props, file_key(props.file)),
            description=f"File `{path.name}`.",
            metadata={**UriMetadataSet(uri=path.as_uri())},
            group_name=GROUP_NAME,
            kinds={"file"},
        )


def data_key(props: KafkaConnectDatasetProps, key: AssetKey) -> AssetKey:
    """Return the key of data with its prefix."""
    return key.with_prefix(props.key_prefix) if props.key_prefix else key


def config_version(config: Mapping[str, str | None]) -> str:
    """Return the hash of a masked configuration, independent of the order of its keys."""
    return hashlib.sha256(json.dumps(dict(config), sort_keys=True).encode()).hexdigest()[:16]


def tag_value(text: str) -> str | None:
    """Return the text as a valid tag value; None when nothing of it is left."""
    return re.sub(r"[^\w.-]", "_", text)[:_LONGEST_TAG].strip("._-") or None
