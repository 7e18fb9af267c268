"""Connectors and their data, joined into one graph of assets."""

import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeAlias

import dagster as dg
from dagster import AssetKey, AssetSpec
from pydantic import ValidationError

from connect_dagster.client.datasets import KafkaConnectConnectorProps
from connect_dagster.client.lineage import connector_lineage
from connect_dagster.client.rest_client import KafkaConnectError
from connect_dagster.orchestration._compat import StateBackedDefinitionsLoader
from connect_dagster.orchestration.assets.metadata_sets import NAMESPACE
from connect_dagster.orchestration.assets.translator import DagsterKafkaConnectTranslator
from connect_dagster.orchestration.assets.workspace_data import KafkaConnectWorkspaceData, connector_props
from connect_dagster.orchestration.cluster import ConnectCluster
from connect_dagster.orchestration.connectors.spec import KafkaConnectConnectorSpec

ConnectorSelectorFn: TypeAlias = Callable[[KafkaConnectConnectorProps], bool]

log = logging.getLogger(__name__)


def declared_props(workspace: ConnectCluster, connector: KafkaConnectConnectorSpec) -> KafkaConnectConnectorProps:
    """Return the props of a declared connector, made from its declaration alone."""
    config = connector.declared_config()
    return connector_props(
        workspace.cluster,
        config,
        connector_lineage(config),
        rest_url=_plain(workspace.url),
        bootstrap_servers=_plain(workspace.bootstrap_servers),
    )


def load_connector_props(
    *,
    workspace: ConnectCluster,
    connector_selector_fn: ConnectorSelectorFn | None = None,
    snapshot_path: str | Path | None = None,
) -> list[KafkaConnectConnectorProps]:
    """Return the connectors of a cluster, requested once per code location; see ``load_kafka_connect_asset_specs``."""
    state = _WorkspaceState(workspace, Path(snapshot_path) if snapshot_path else None).get_or_fetch_state()
    chosen = connector_selector_fn or (lambda _: True)
    return [props for props in KafkaConnectWorkspaceData.model_validate_json(state).connector_props() if chosen(props)]


def asset_graph(
    connectors: Iterable[KafkaConnectConnectorProps], translator: DagsterKafkaConnectTranslator
) -> list[AssetSpec]:
    """Return the assets of connectors and of their data; outputs depend on their connector."""
    specs: dict[AssetKey, AssetSpec] = {}
    for connector in connectors:
        own = translator.get_asset_spec(connector)
        read = [translator.get_asset_spec(dataset) for dataset in connector.inputs]
        written = [_fed_by(translator.get_asset_spec(dataset), own.key) for dataset in connector.outputs]
        for spec in (own, *read, *written):
            specs[spec.key] = _united(specs[spec.key], spec) if spec.key in specs else spec
    return list(specs.values())


def _fed_by(spec: AssetSpec, feeder: AssetKey) -> AssetSpec:
    return spec.replace_attributes(deps=[*spec.deps, feeder])


def _united(one: AssetSpec, other: AssetSpec) -> AssetSpec:
    deps = {dep.asset_key for spec in (one, other) for dep in spec.deps}
    return one.replace_attributes(deps=sorted(deps))


def _plain(text: str | None) -> str | None:
    """Return a field of a workspace; None for an ``EnvVar``, which definitions do not resolve."""
    return None if isinstance(text, dg.EnvVar) else text


class _WorkspaceState(StateBackedDefinitionsLoader[str]):
    """The snapshot as JSON text, fetched when a location loads and passed to its runs."""

    def __init__(self, workspace: ConnectCluster, snapshot: Path | None) -> None:
        self._workspace = workspace
        self._snapshot = snapshot

    @property
    def defs_key(self) -> str:
        return f"{NAMESPACE}/{self._workspace.cluster}"

    def fetch_state(self) -> str:
        try:
            with self._workspace.initialized() as ready:
                data = KafkaConnectWorkspaceData.fetch(ready.get_client(), ready.cluster, ready.bootstrap_servers)
        except KafkaConnectError as error:
            return self._last_state(error)
        state = data.model_dump_json()
        if self._snapshot:
            fresh = self._snapshot.with_name(f"{self._snapshot.name}.new")
            fresh.write_text(state)
            # In one step: who loads meanwhile finds the last state or the next.
            fresh.replace(self._snapshot)
        return state

    def defs_from_state(self, state: str) -> dg.Definitions:
        props = KafkaConnectWorkspaceData.model_validate_json(state).connector_props()
        return dg.Definitions(assets=asset_graph(props, DagsterKafkaConnectTranslator()))

    def _last_state(self, error: KafkaConnectError) -> str:
        problem = f"The connectors of cluster '{self._workspace.cluster}' cannot be loaded: {error}"
        if self._snapshot is None:
            raise dg.Failure(f"{problem}. Start a worker, or give a snapshot_path to fall back on") from None
        try:
            state = self._snapshot.read_text()
            KafkaConnectWorkspaceData.model_validate_json(state)
        except (OSError, ValidationError):
            raise dg.Failure(f"{problem}. A snapshot of them in {self._snapshot} is missing too") from None
        log.warning("%s. The snapshot %s is used instead", problem, self._snapshot)
        return state
