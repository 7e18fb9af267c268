"""A Connect cluster as a Dagster resource, and its connectors as assets."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import dagster as dg
from dagster import AssetSpec

from connect_dagster.orchestration.assets.specs import (
    ConnectorSelectorFn,
    asset_graph,
    declared_props,
    load_connector_props,
    load_workspace_data,
)
from connect_dagster.orchestration.assets.translator import DagsterKafkaConnectTranslator
from connect_dagster.orchestration.assets.workspace_data import KafkaConnectWorkspaceData
from connect_dagster.orchestration.cluster import ConnectCluster
from connect_dagster.orchestration.connectors.spec import KafkaConnectConnectorSpec
from connect_dagster.orchestration.event_iterator import (
    KafkaConnectApplyConfig,
    KafkaConnectEventIterator,
    apply_and_poll,
)


class KafkaConnectWorkspace(ConnectCluster):
    """A Connect worker, or the cluster behind it.

    Examples:
        .. code-block:: python

            import dagster as dg
            from connect_dagster import KafkaConnectWorkspace

            workspace = KafkaConnectWorkspace(
                url="https://connect.example.org:8083", username="dagster", password=dg.EnvVar("CONNECT_PASSWORD")
            )
    """

    def fetch_kafka_connect_workspace_data(self) -> KafkaConnectWorkspaceData:
        """Request the connectors of the cluster. Raises KafkaConnectError."""
        return KafkaConnectWorkspaceData.fetch(
            self.get_client(), self.cluster, self.bootstrap_servers, self.data_key_prefix, self.kafka_cluster
        )

    def get_or_fetch_workspace_data(self, *, snapshot_path: str | Path | None = None) -> KafkaConnectWorkspaceData:
        """Return the connectors of the cluster, requested once while a code location loads, and not by its runs.

        Args:
            snapshot_path: File with the last state of the cluster, for when it does not respond.

        Raises:
            Failure: The request fails, and the snapshot is missing.
        """
        return load_workspace_data(self, snapshot_path)

    def load_asset_specs(
        self,
        *,
        dagster_kafka_connect_translator: DagsterKafkaConnectTranslator | None = None,
        connector_selector_fn: ConnectorSelectorFn | None = None,
        snapshot_path: str | Path | None = None,
    ) -> Sequence[dg.AssetSpec]:
        """Return the connectors of the cluster and their data as assets; see :func:`load_kafka_connect_asset_specs`."""
        return load_kafka_connect_asset_specs(
            workspace=self,
            dagster_kafka_connect_translator=dagster_kafka_connect_translator,
            connector_selector_fn=connector_selector_fn,
            snapshot_path=snapshot_path,
        )

    def apply_and_poll(
        self, context: dg.AssetExecutionContext, config: KafkaConnectApplyConfig | None = None
    ) -> KafkaConnectEventIterator:
        """Apply the connectors of ``@kafka_connect_assets``, and wait for their states.

        Validates, compares with the live configuration, changes the keys that differ, and requests the declared
        state. A second call changes nothing.

        Args:
            context: Of the assets' run.
            config: How, from the run's configuration.

        Returns:
            Their events, to be yielded; a run fails with one sentence when something is refused or takes too long.
        """
        return apply_and_poll(self, context, config or KafkaConnectApplyConfig())


def load_kafka_connect_asset_specs(
    *,
    workspace: KafkaConnectWorkspace,
    dagster_kafka_connect_translator: DagsterKafkaConnectTranslator | None = None,
    connector_selector_fn: ConnectorSelectorFn | None = None,
    snapshot_path: str | Path | None = None,
) -> Sequence[AssetSpec]:
    """Load the connectors of a cluster, and their data, as external assets.

    A request is sent when a code location loads, and not again by the runs it starts.

    Args:
        workspace (KafkaConnectWorkspace): The Connect cluster.
        dagster_kafka_connect_translator (Optional[DagsterKafkaConnectTranslator]): Makes the assets.
        connector_selector_fn (Optional[ConnectorSelectorFn]): Selects the connectors to load. Defaults to all.
        snapshot_path (Optional[str | Path]): File with the last state of the cluster, for when the cluster does
            not respond. Without it, the cluster has to run for the location to load.

    Returns:
        Sequence[AssetSpec]: The assets, each once.

    Raises:
        Failure: The request fails, and the snapshot is missing.

    Examples:
        .. code-block:: python

            import dagster as dg
            from connect_dagster import KafkaConnectWorkspace, load_kafka_connect_asset_specs

            workspace = KafkaConnectWorkspace(url="http://127.0.0.1:8083")

            @dg.definitions
            def defs():
                specs = load_kafka_connect_asset_specs(workspace=workspace, snapshot_path="connect.json")
                return dg.Definitions(assets=specs)
    """
    props = load_connector_props(
        workspace=workspace, connector_selector_fn=connector_selector_fn, snapshot_path=snapshot_path
    )
    return asset_graph(props, dagster_kafka_connect_translator or DagsterKafkaConnectTranslator(), declared=False)


def build_kafka_connect_asset_specs(
    *,
    workspace: KafkaConnectWorkspace,
    connectors: Iterable[KafkaConnectConnectorSpec],
    dagster_kafka_connect_translator: DagsterKafkaConnectTranslator | None = None,
) -> Sequence[AssetSpec]:
    """Build external assets for declared connectors and their data, without a request to the cluster.

    Args:
        workspace (KafkaConnectWorkspace): The Connect cluster they belong to.
        connectors (Iterable[KafkaConnectConnectorSpec]): The connectors.
        dagster_kafka_connect_translator (Optional[DagsterKafkaConnectTranslator]): Makes the assets.

    Returns:
        Sequence[AssetSpec]: The assets, each once.

    Raises:
        DagsterInvalidDefinitionError: One key stands for data on two servers.

    Examples:
        .. code-block:: python

            from connect_dagster import (
                KafkaConnectConnectorSpec,
                KafkaConnectWorkspace,
                build_kafka_connect_asset_specs,
            )

            lines = KafkaConnectConnectorSpec("lines", "FileStreamSource", {"file": "/tmp/in.txt", "topic": "lines"})
            specs = build_kafka_connect_asset_specs(workspace=KafkaConnectWorkspace(), connectors=[lines])
    """
    props = [declared_props(workspace, connector) for connector in connectors]
    return asset_graph(props, dagster_kafka_connect_translator or DagsterKafkaConnectTranslator(), declared=True)
