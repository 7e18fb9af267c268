"""Connectors as assets that can be materialised: Materialize applies the configuration and awaits the state."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import dagster as dg
from dagster import AssetsDefinition

from connect_dagster.client.datasets import KafkaConnectConnectorProps, KafkaConnectTopicProps
from connect_dagster.orchestration.assets.keys import identifier
from connect_dagster.orchestration.assets.specs import (
    ConnectorSelectorFn,
    asset_graph,
    check_keys,
    declared_props,
    load_connector_props,
)
from connect_dagster.orchestration.assets.translator import DagsterKafkaConnectTranslator
from connect_dagster.orchestration.connectors.spec import KafkaConnectConnectorSpec
from connect_dagster.orchestration.event_iterator import (
    DECLARATION_KEY,
    Declaration,
    KafkaConnectApplyConfig,
    KafkaConnectEvent,
)
from connect_dagster.orchestration.failures import one_sentence
from connect_dagster.orchestration.source_code import SourceCode, calling_code, linked
from connect_dagster.orchestration.topic_assets import observable_topics
from connect_dagster.orchestration.workspace import KafkaConnectWorkspace

Execute: TypeAlias = Callable[
    [dg.AssetExecutionContext, KafkaConnectApplyConfig, KafkaConnectWorkspace], Iterator[KafkaConnectEvent]
]


def apply_connector(
    context: dg.AssetExecutionContext, config: KafkaConnectApplyConfig, kafka_connect: KafkaConnectWorkspace
) -> Iterator[KafkaConnectEvent]:
    """Apply a connector, wait, and report its offsets, topics and columns: the default of Materialize."""
    yield from kafka_connect.apply_and_poll(context, config).fetch_offsets().fetch_topic_stats().fetch_column_metadata()


def kafka_connect_assets(
    *,
    workspace: KafkaConnectWorkspace,
    connector: KafkaConnectConnectorSpec | None = None,
    connector_name: str | None = None,
    name: str | None = None,
    group_name: str | None = None,
    dagster_kafka_connect_translator: DagsterKafkaConnectTranslator | None = None,
    pool: str | None = None,
) -> Callable[[Callable[..., Any]], AssetsDefinition]:
    """Create the asset of one connector; the decorated function is its materialisation.

    The connector is either declared, and definitions load without a request, or taken as the
    cluster has it.

    Args:
        workspace (KafkaConnectWorkspace): The Connect cluster.
        connector (Optional[KafkaConnectConnectorSpec]): The declared connector.
        connector_name (Optional[str]): Or the name of one that the cluster has.
        name (Optional[str]): Name of the op. Defaults to one made of those of cluster and connector.
        group_name (Optional[str]): Group of the asset. Defaults to the translator's.
        dagster_kafka_connect_translator (Optional[DagsterKafkaConnectTranslator]): Makes the asset.
        pool (Optional[str]): Pool of the step, whose limit in Dagster bounds how many run at once.

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
    check_keys([props], translator, declared=connector is not None)
    spec = _declared(translator.get_asset_spec(props), Declaration(connector, translator))
    if group_name:
        spec = spec.replace_attributes(group_name=group_name)
    return dg.multi_asset(name=name or _op_name(props), specs=[spec], pool=pool)


def build_kafka_connect_assets_definitions(
    *,
    workspace: KafkaConnectWorkspace,
    connectors: Iterable[KafkaConnectConnectorSpec] | None = None,
    connector_selector_fn: ConnectorSelectorFn | None = None,
    dagster_kafka_connect_translator: DagsterKafkaConnectTranslator | None = None,
    snapshot_path: str | Path | None = None,
    pool: str | None = None,
    input_assets: bool = True,
) -> dg.Definitions:
    """Build an asset that can be materialised for each connector, and external assets for their data.

    A topic that is only read is left out, so that the definitions can be merged with those of its writer.

    Args:
        workspace (KafkaConnectWorkspace): The Connect cluster.
        connectors (Optional[Iterable[KafkaConnectConnectorSpec]]): Declared connectors. Without them those that the
            cluster has are loaded, as ``load_kafka_connect_asset_specs`` does.
        connector_selector_fn (Optional[ConnectorSelectorFn]): Selects those that become assets. Defaults to all.
        dagster_kafka_connect_translator (Optional[DagsterKafkaConnectTranslator]): Makes the assets.
        snapshot_path (Optional[str | Path]): File with the last state of the cluster, for when it does not respond.
        pool (Optional[str]): Pool of Materialize's steps, whose limit in Dagster bounds how many run at once.
        input_assets (bool): Whether the tables and files that the connectors read are assets here, beside those that
            they write. False where other definitions of the code location have them. Defaults to True.

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
    source = calling_code()
    return dg.Definitions(
        assets=connector_assets(
            workspace,
            chosen,
            declared,
            translator,
            apply_connector,
            source=source,
            pool=pool,
            input_assets=input_assets,
        )
    )


def connector_assets(
    workspace: KafkaConnectWorkspace,
    connectors: Sequence[KafkaConnectConnectorProps],
    declared: Mapping[str, KafkaConnectConnectorSpec],
    translator: DagsterKafkaConnectTranslator,
    execute: Execute,
    freshness_policy: dg.FreshnessPolicy | None = None,
    *,
    observe_topics: bool = False,
    source: SourceCode | None = None,
    pool: str | None = None,
    input_assets: bool = True,
) -> list[dg.AssetsDefinition | dg.AssetSpec]:
    """Return connectors as assets that can be materialised, and external assets for their data.

    Topics that are only read are left out: the definitions of their writer describe them, and Dagster refuses two
    specs of one asset when only one has its upstream.

    Args:
        workspace: The Connect cluster.
        connectors: The connectors.
        declared: Their declarations by name; one without is taken as the cluster has it.
        translator: Makes the assets.
        execute: The function of Materialize.
        freshness_policy: Policy of the data that they write.
        observe_topics: Whether the topics that they write are observable.
        source: Line that declares them, which their assets link to.
        pool: Pool of Materialize's steps.
        input_assets: Whether data other than topics that is only read has assets.

    Raises:
        DagsterInvalidDefinitionError: Topics are to be observable, and the workspace has no ``bootstrap_servers``.
    """
    specs = asset_graph(connectors, translator, declared=bool(declared), freshness_policy=freshness_policy)
    by_key = {translator.get_asset_spec(props).key: props for props in connectors}
    inputs = [data for props in connectors for data in props.inputs]
    described = [data for data in inputs if not input_assets or isinstance(data, KafkaConnectTopicProps)]
    elsewhere = {translator.get_asset_spec(data).key for data in described}
    applied = [
        _applied(workspace, spec, Declaration(declared.get(by_key[spec.key].name), translator), execute, source, pool)
        for spec in specs
        if spec.key in by_key
    ]
    data = [spec for spec in specs if spec.key not in by_key and (spec.key not in elsewhere or spec.deps)]
    if not observe_topics:
        return [*applied, *data]
    outputs = [one for props in connectors for one in props.outputs if isinstance(one, KafkaConnectTopicProps)]
    written = {translator.get_asset_spec(one).key: one.topic for one in outputs}
    observed = {written[spec.key]: spec for spec in data if spec.key in written}
    others = [spec for spec in data if spec.key not in written]
    return [*applied, *others, *([observable_topics(workspace, observed)] if observed else [])]


def _applied(
    workspace: KafkaConnectWorkspace,
    spec: dg.AssetSpec,
    declaration: Declaration,
    execute: Execute,
    source: SourceCode | None,
    pool: str | None,
) -> dg.AssetsDefinition:
    executable = _declared(spec, declaration, source)

    @dg.multi_asset(name=f"apply_{identifier(spec.key.to_python_identifier())}", specs=[executable], pool=pool)
    def applied(context: dg.AssetExecutionContext, config: KafkaConnectApplyConfig) -> Iterator[KafkaConnectEvent]:
        """Applies the connector, and reports its offsets, its topics and their columns."""
        with one_sentence(), workspace.initialized() as ready:
            yield from execute(context, config, ready)

    return applied


def _declared(spec: dg.AssetSpec, declaration: Declaration, source: SourceCode | None = None) -> dg.AssetSpec:
    """Return the asset of a connector with its declaration, and links to the line and the file that declare it."""
    # Dagster stores of an object in metadata no more than the name of its class: secrets stay here.
    executable = spec.merge_attributes(metadata={DECLARATION_KEY: declaration})
    file = declaration.connector.source_file if declaration.connector else None
    return linked(executable, [source, None if file is None else SourceCode(file)])


def _live_props(workspace: KafkaConnectWorkspace, name: str) -> KafkaConnectConnectorProps:
    found: Sequence[KafkaConnectConnectorProps] = load_connector_props(
        workspace=workspace, connector_selector_fn=lambda props: props.name == name
    )
    if not found:
        raise dg.DagsterInvariantViolationError(f"Cluster '{workspace.cluster}' has no connector '{name}'")
    return found[0]


def _op_name(props: KafkaConnectConnectorProps) -> str:
    return identifier(f"kafka_connect_{props.cluster}_{props.name}")
