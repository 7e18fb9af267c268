"""Connectors and their data, joined into one graph of assets.

One key is one asset: data of equal names on two servers would become one. :func:`check_keys` finds it.
"""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

import dagster as dg
from dagster import AssetKey, AssetSpec
from pydantic import ValidationError

from connect_dagster.client.datasets import (
    KafkaConnectConnectorProps,
    KafkaConnectDatasetProps,
    KafkaConnectTableProps,
    KafkaConnectTopicProps,
)
from connect_dagster.client.lineage import connector_lineage
from connect_dagster.client.rest_client import KafkaConnectError
from connect_dagster.orchestration._compat import StateBackedDefinitionsLoader, load_context
from connect_dagster.orchestration.assets.metadata_sets import NAMESPACE
from connect_dagster.orchestration.assets.translator import DagsterKafkaConnectTranslator
from connect_dagster.orchestration.assets.workspace_data import KafkaConnectWorkspaceData, connector_props
from connect_dagster.orchestration.cluster import ConnectCluster, check_names
from connect_dagster.orchestration.connectors.spec import KafkaConnectConnectorSpec

ConnectorSelectorFn: TypeAlias = Callable[[KafkaConnectConnectorProps], bool]

log = logging.getLogger(__name__)


def declared_props(workspace: ConnectCluster, connector: KafkaConnectConnectorSpec) -> KafkaConnectConnectorProps:
    """Return the props of a declared connector, made from its declaration alone.

    Raises:
        DagsterInvalidDefinitionError: The name of the workspace's cluster, or its alias, is an ``EnvVar``.
    """
    check_names(workspace)
    config = connector.declared_config()
    return connector_props(
        workspace.cluster,
        config,
        connector_lineage(config),
        rest_url=_plain(workspace.url),
        bootstrap_servers=_plain(workspace.bootstrap_servers),
        data_key_prefix=workspace.data_key_prefix,
        kafka_cluster=workspace.kafka_cluster,
    )


def load_connector_props(
    *,
    workspace: ConnectCluster,
    connector_selector_fn: ConnectorSelectorFn | None = None,
    snapshot_path: str | Path | None = None,
) -> list[KafkaConnectConnectorProps]:
    """Return the connectors of a cluster, requested once per code location; see ``load_kafka_connect_asset_specs``."""
    chosen = connector_selector_fn or (lambda _: True)
    return [props for props in load_workspace_data(workspace, snapshot_path).connector_props() if chosen(props)]


def load_workspace_data(
    workspace: ConnectCluster, snapshot_path: str | Path | None = None
) -> KafkaConnectWorkspaceData:
    """Return the connectors of a cluster, requested once per code location.

    Args:
        workspace: The cluster.
        snapshot_path: File with the last state of the cluster, for when it does not respond.

    Raises:
        Failure: The request fails, and the snapshot is missing.
    """
    state = _WorkspaceState(workspace, Path(snapshot_path) if snapshot_path else None).get_or_fetch_state()
    return KafkaConnectWorkspaceData.model_validate_json(state)


def asset_graph(
    connectors: Iterable[KafkaConnectConnectorProps],
    translator: DagsterKafkaConnectTranslator,
    *,
    declared: bool,
    freshness_policy: dg.FreshnessPolicy | None = None,
) -> list[AssetSpec]:
    """Return the assets of connectors and of their data; outputs depend on their connector.

    Args:
        connectors: The connectors.
        translator: Makes the assets.
        declared: Whether the connectors are declared, and not as a cluster has them; see :func:`check_keys`.
        freshness_policy: Policy of outputs to which the translator gives none.
    """
    connectors = list(connectors)
    check_keys(connectors, translator, declared=declared)
    specs: dict[AssetKey, AssetSpec] = {}
    for connector in connectors:
        own = translator.get_asset_spec(connector)
        read = [translator.get_asset_spec(dataset) for dataset in connector.inputs]
        written = [
            _fed_by(translator.get_asset_spec(dataset), own.key, freshness_policy) for dataset in connector.outputs
        ]
        for spec in (own, *read, *written):
            specs[spec.key] = _united(specs[spec.key], spec) if spec.key in specs else spec
    return list(specs.values())


def _fed_by(spec: AssetSpec, feeder: AssetKey, freshness_policy: dg.FreshnessPolicy | None) -> AssetSpec:
    return spec.replace_attributes(
        deps=[*spec.deps, feeder], freshness_policy=spec.freshness_policy or freshness_policy
    )


def _united(one: AssetSpec, other: AssetSpec) -> AssetSpec:
    deps = {dep.asset_key for spec in (one, other) for dep in spec.deps}
    return one.replace_attributes(deps=sorted(deps), freshness_policy=one.freshness_policy or other.freshness_policy)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where an asset is, and the connector that was seen with it first.

    Attributes:
        system: Kind of the server.
        server: Its addresses, ``host:port`` each, separated by commas.
        connector: The connector, for messages.
        remedy: What makes another key of it, for messages.
    """

    system: str
    server: str
    connector: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.connector} ({self.system} at {self.server})"

    def may_be(self, other: "_Place") -> bool:
        """Return whether both servers may be one."""
        return self.system == other.system and _have_one_in_common(self.server, other.server)


# Of the graphs of one load, which outlives it where the process goes on, as in tests: so no more than a warning.
_places: WeakKeyDictionary[object, dict[AssetKey, _Place]] = WeakKeyDictionary()


def check_keys(
    connectors: Iterable[KafkaConnectConnectorProps], translator: DagsterKafkaConnectTranslator, *, declared: bool
) -> None:
    """Check that no key stands for connectors or data on two servers.

    In one graph of declared connectors that is an error. It is a warning for connectors that a cluster has, which
    others may create at any time, and for several graphs.

    Args:
        connectors: The connectors.
        translator: Makes the assets.
        declared: Whether they are declared.

    Raises:
        DagsterInvalidDefinitionError: One does.
    """
    if translator.allow_equal_keys:
        return
    own: dict[AssetKey, _Place] = {}
    for connector in connectors:
        owner = f"connector '{connector.name}' of cluster '{connector.cluster}'"
        for props in (connector, *connector.inputs, *connector.outputs):
            if (server := _server(props)) is not None:
                key, place = translator.get_asset_spec(props).key, _Place(*server, owner, _remedy(props))
                if not (first := own.setdefault(key, place)).may_be(place):
                    _report(_refusal(key, first, place), as_error=declared)
    context = load_context()
    known = {} if context is None else _places.setdefault(context, {})
    for key, place in own.items():
        if not (first := known.setdefault(key, place)).may_be(place):
            _report(_refusal(key, first, place), as_error=False)


def _report(message: str, *, as_error: bool) -> None:
    if as_error:
        raise dg.DagsterInvalidDefinitionError(message)
    log.warning("%s", message)


def _refusal(key: AssetKey, one: _Place, other: _Place) -> str:
    return (
        f"The asset key {key.to_user_string()} is of {one} and of {other}: give one of the workspaces {one.remedy}, or "
        "another key by a DagsterKafkaConnectTranslator; if both servers are one, set its allow_equal_keys"
    )


_CONNECT = "Kafka Connect"


def _remedy(props: KafkaConnectConnectorProps | KafkaConnectDatasetProps) -> str:
    match props:
        case KafkaConnectConnectorProps():
            return "a `cluster` of another name"
        case KafkaConnectTopicProps(cluster=str()):
            return "another `kafka_cluster`"
        case _:
            return "a `data_key_prefix`"


def _server(props: KafkaConnectConnectorProps | KafkaConnectDatasetProps) -> tuple[str, str] | None:
    """Return kind and addresses of a server; None when they are not known, as with a placeholder."""
    match props:
        case KafkaConnectConnectorProps(rest_url=str(url)):
            found = _CONNECT, urlsplit(url).netloc.rpartition("@")[2]
        case KafkaConnectTopicProps(bootstrap_servers=str(servers)):
            found = "Kafka", servers
        case KafkaConnectTableProps(server=str(server)):
            found = props.system, server
        case _:
            return None
    return None if "${" in found[1] else found


_LOOPBACK = frozenset({"127.0.0.1", "[::1]"})


def _have_one_in_common(one: str, other: str) -> bool:
    """Return whether two lists of addresses have one in common; an address without a port has any port."""
    pairs = ((ours, theirs) for ours in _addresses(one) for theirs in _addresses(other))
    return any(
        ours[0] == theirs[0] and (not ours[1] or not theirs[1] or ours[1] == theirs[1]) for ours, theirs in pairs
    )


def _addresses(servers: str) -> list[tuple[str, str]]:
    parts = (address.strip().lower().rpartition(":") for address in servers.split(","))
    pairs = ((host, port) if port.isdecimal() else (f"{host}{colon}{port}", "") for host, colon, port in parts)
    return [("localhost" if host in _LOOPBACK else host, port) for host, port in pairs]


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
                data = KafkaConnectWorkspaceData.fetch(
                    ready.get_client(),
                    ready.cluster,
                    ready.bootstrap_servers,
                    ready.data_key_prefix,
                    ready.kafka_cluster,
                )
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
        return dg.Definitions(assets=asset_graph(props, DagsterKafkaConnectTranslator(), declared=False))

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
