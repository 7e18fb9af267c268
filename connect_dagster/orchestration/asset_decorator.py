"""Connectors as assets that can be materialised: Materialize applies the configuration and reaches the state."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import dagster as dg
from dagster import AssetsDefinition

from connect_dagster.client.datasets import KafkaConnectConnectorProps
from connect_dagster.orchestration.assets.specs import ConnectorSelectorFn, declared_props, load_connector_props
from connect_dagster.orchestration.assets.translator import DagsterKafkaConnectTranslator
from connect_dagster.orchestration.connectors.spec import KafkaConnectConnectorSpec
from connect_dagster.orchestration.definitions import apply_connector, connector_assets
from connect_dagster.orchestration.event_iterator import DECLARATION_KEY, Declaration
from connect_dagster.orchestration.names import identifier
from connect_dagster.orchestration.workspace import KafkaConnectWorkspace


def kafka_connect_assets(
    *,
    workspace: KafkaConnectWorkspace,
    connector: KafkaConnectConnectorSpec | None = None,
    connector_name: str | None = None,
    name: str | None = None,
    group_name: str | None = None,
    dagster_kafka_connect_translator: DagsterKafkaConnectTranslator | None = None,
) -> Callable[[Callable[..., Any]], AssetsDefinition]:
    """Creates the asset of one connector, whose materialisation is what the decorated function does.

    The connector is either declared, and then the cluster is not asked when definitions load, or taken as the
    cluster has it.

    Args:
        workspace (KafkaConnectWorkspace): The Connect cluster.
        connector (Optional[KafkaConnectConnectorSpec]): The declared connector.
        connector_name (Optional[str]): Or the name of one that the cluster has.
        name (Optional[str]): Name of the op. Defaults to one made of those of cluster and connector.
        group_name (Optional[str]): Group of the asset. Defaults to the translator's.
        dagster_kafka_connect_translator (Optional[DagsterKafkaConnectTranslator]): Makes the asset.

    Returns:
        Callable: The decorator, which gives an AssetsDefinition.

    Raises:
        DagsterInvariantViolationError: Neither or both of ``connector`` and ``connector_name`` are given, or the
            cluster has no connector of that name.

    Examples:
        .. code-block:: python

            import dagster as dg
            from connect_dagster import (
                KafkaConnectConnectorSpec,
                KafkaConnectWorkspace,
                kafka_connect_assets,
            )

            workspace = KafkaConnectWorkspace(url="http://127.0.0.1:8083")
            lines = KafkaConnectConnectorSpec("lines", "FileStreamSource", {"file": "/tmp/in.txt", "topic": "lines"})

            @kafka_connect_assets(workspace=workspace, connector=lines)
            def lines_connector(context: dg.AssetExecutionContext, kafka_connect: KafkaConnectWorkspace):
                yield from kafka_connect.apply_and_poll(context).fetch_offsets()

            defs = dg.Definitions(assets=[lines_connector], resources={"kafka_connect": workspace})
    """
    if (connector is None) == (connector_name is None):
        raise dg.DagsterInvariantViolationError(
            "@kafka_connect_assets takes either connector, a declaration, or connector_name, a name in the cluster"
        )
    translator = dagster_kafka_connect_translator or DagsterKafkaConnectTranslator()
    props = declared_props(workspace, connector) if connector else _live_props(workspace, connector_name or "")
    # Dagster stores of an object in metadata no more than the name of its class: secrets stay here.
    declaration = {DECLARATION_KEY: Declaration(connector, translator)}
    spec = translator.get_asset_spec(props).merge_attributes(metadata=declaration)
    if group_name:
        spec = spec.replace_attributes(group_name=group_name)
    return dg.multi_asset(name=name or _op_name(props), specs=[spec])


def build_kafka_connect_assets_definitions(
    *,
    workspace: KafkaConnectWorkspace,
    connectors: Iterable[KafkaConnectConnectorSpec] | None = None,
    connector_selector_fn: ConnectorSelectorFn | None = None,
    dagster_kafka_connect_translator: DagsterKafkaConnectTranslator | None = None,
    snapshot_path: str | Path | None = None,
) -> dg.Definitions:
    """Builds an asset that can be materialised for each connector, and external ones for what they read and write.

    A topic that is only read is left to whoever writes it, so that definitions can be merged.

    Args:
        workspace (KafkaConnectWorkspace): The Connect cluster.
        connectors (Optional[Iterable[KafkaConnectConnectorSpec]]): Declared connectors. Without them those that the
            cluster has are loaded, as ``load_kafka_connect_asset_specs`` does.
        connector_selector_fn (Optional[ConnectorSelectorFn]): Tells which of them become assets. Defaults to all.
        dagster_kafka_connect_translator (Optional[DagsterKafkaConnectTranslator]): Makes the assets.
        snapshot_path (Optional[str | Path]): What to fall back on when the cluster cannot be asked.

    Returns:
        Definitions: The assets.

    Examples:
        .. code-block:: python

            from connect_dagster import (
                KafkaConnectConnectorSpec,
                KafkaConnectWorkspace,
                build_kafka_connect_assets_definitions,
            )

            defs = build_kafka_connect_assets_definitions(
                workspace=KafkaConnectWorkspace(url="http://127.0.0.1:8083"),
                connectors=[
                    KafkaConnectConnectorSpec("lines", "FileStreamSource", {"file": "/tmp/in.txt", "topic": "lines"})
                ],
            )
    """
    translator = dagster_kafka_connect_translator or DagsterKafkaConnectTranslator()
    declared: dict[str, KafkaConnectConnectorSpec] = {one.name: one for one in connectors or ()}
    if connectors is None:
        props = load_connector_props(workspace=workspace, snapshot_path=snapshot_path)
    else:
        props = [declared_props(workspace, one) for one in declared.values()]
    chosen = [one for one in props if connector_selector_fn is None or connector_selector_fn(one)]
    return dg.Definitions(assets=connector_assets(workspace, chosen, declared, translator, apply_connector))


def _live_props(workspace: KafkaConnectWorkspace, name: str) -> KafkaConnectConnectorProps:
    found: Sequence[KafkaConnectConnectorProps] = load_connector_props(
        workspace=workspace, connector_selector_fn=lambda props: props.name == name
    )
    if not found:
        raise dg.DagsterInvariantViolationError(f"Cluster '{workspace.cluster}' has no connector '{name}'")
    return found[0]


def _op_name(props: KafkaConnectConnectorProps) -> str:
    return identifier(f"kafka_connect_{props.cluster}_{props.name}")
