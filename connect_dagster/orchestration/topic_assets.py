"""Topics as observable assets: Observe reads their offsets, sizes and newest times from the brokers."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping

import dagster as dg
from confluent_kafka import KafkaException
from dagster import AssetKey

from connect_dagster.client.datasets import KafkaConnectTopicProps
from connect_dagster.errors import ConnectError
from connect_dagster.orchestration.assets.keys import identifier
from connect_dagster.orchestration.assets.translator import DagsterKafkaConnectTranslator
from connect_dagster.orchestration.cluster import check_brokers, check_names
from connect_dagster.orchestration.failures import listed, one_sentence
from connect_dagster.orchestration.observations.topics import read_topics
from connect_dagster.orchestration.source_code import calling_code, linked
from connect_dagster.orchestration.workspace import KafkaConnectWorkspace

BROKERS_TIMEOUT = 15.0


def build_kafka_topic_assets(
    *,
    workspace: KafkaConnectWorkspace,
    topics: Iterable[str],
    name: str | None = None,
    dagster_kafka_connect_translator: DagsterKafkaConnectTranslator | None = None,
) -> dg.AssetsDefinition:
    """Create observable assets of topics, for those that no connector of the code location writes.

    Observe reads them from the brokers: partitions, first and end offsets, bytes, and the time of the newest record.
    Their data version is that of the end offsets, so that automation conditions of assets downstream see new records.
    For topics that connectors write there is ``observe_topics``, of :func:`build_connector_definitions` and of the
    components.

    Args:
        workspace (KafkaConnectWorkspace): The cluster, with ``bootstrap_servers``.
        topics (Iterable[str]): Names of the topics.
        name (Optional[str]): Name of the op. Defaults to one with the names of the cluster and the first topic.
        dagster_kafka_connect_translator (Optional[DagsterKafkaConnectTranslator]): Makes the assets.

    Returns:
        AssetsDefinition: The assets, each of which may be observed alone.

    Raises:
        DagsterInvalidDefinitionError: No topic is given, or the workspace has no ``bootstrap_servers``.

    Examples:
        .. code-block:: python

            import dagster as dg
            from connect_dagster import KafkaConnectWorkspace, build_kafka_topic_assets

            workspace = KafkaConnectWorkspace(bootstrap_servers="127.0.0.1:9092")
            defs = dg.Definitions(assets=[build_kafka_topic_assets(workspace=workspace, topics=["orders"])])
    """
    check_names(workspace)
    translator = dagster_kafka_connect_translator or DagsterKafkaConnectTranslator()
    alias, servers = workspace.kafka_cluster, workspace.bootstrap_servers
    prefix = () if alias else tuple(workspace.data_key_prefix)
    shown = None if isinstance(servers, dg.EnvVar) else servers
    props = [KafkaConnectTopicProps(topic, alias, shown, prefix) for topic in topics]
    if not props:
        raise dg.DagsterInvalidDefinitionError("build_kafka_topic_assets needs the name of at least one topic")
    source = calling_code()
    specs = {one.topic: linked(translator.get_asset_spec(one), [source]) for one in props}
    return observable_topics(workspace, specs, name)


def observable_topics(
    workspace: KafkaConnectWorkspace, specs: Mapping[str, dg.AssetSpec], name: str | None = None
) -> dg.AssetsDefinition:
    """Return observable assets of topics.

    Args:
        workspace: The cluster.
        specs: The assets by the topics' names.
        name: Name of the op.

    Raises:
        DagsterInvalidDefinitionError: The workspace has no ``bootstrap_servers``.
    """
    check_brokers(workspace, "Observe of topics asks the brokers")
    topics = {spec.key: topic for topic, spec in specs.items()}
    default = f"observe_{workspace.cluster}_{min(topics.values())}"

    # Dagster's decorator has no types.
    as_assets: Callable[[object], dg.AssetsDefinition] = dg.multi_observable_source_asset(
        name=name or identifier(default), specs=list(specs.values()), can_subset=True
    )

    def observed(context: dg.AssetExecutionContext) -> Iterator[dg.ObserveResult]:
        """Reads offsets, sizes and newest times of topics from the brokers."""
        with one_sentence(), workspace.initialized() as ready:
            yield from _observations(context, ready, {key: topics[key] for key in context.selected_asset_keys})

    return as_assets(observed)


def _observations(
    context: dg.AssetExecutionContext, workspace: KafkaConnectWorkspace, topics: Mapping[AssetKey, str]
) -> Iterator[dg.ObserveResult]:
    brokers = workspace.brokers
    assert brokers is not None  # they are checked
    try:
        readings = read_topics(brokers, list(topics.values()), BROKERS_TIMEOUT, context.log.warning)
    except (KafkaException, ConnectError) as error:
        raise dg.Failure(f"The brokers {brokers} did not return the offsets of topics: {error}") from error
    now = time.time()
    for key, topic in topics.items():
        if (reading := readings.get(topic)) is not None:
            yield dg.ObserveResult(
                asset_key=key, metadata=reading.metadata(now), data_version=dg.DataVersion(reading.version)
            )
    if missing := set(topics.values()) - set(readings):
        raise dg.Failure(f"The brokers {brokers} do not have {listed(missing)}")
