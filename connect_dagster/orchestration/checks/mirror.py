"""Checks of MirrorMaker's connectors: ``mirror_lag``, ``mirror_heartbeat`` and ``mirror_config_drift``."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import dagster as dg
from dagster import AssetCheckKey, AssetCheckSeverity, MetadataValue, TableColumn, TableRecord, TableSchema

from connect_dagster.client.datasets import KafkaConnectTopicProps
from connect_dagster.client.lineage import ConnectorLineage
from connect_dagster.client.mirror_names import MirrorNames
from connect_dagster.kafka.access import Bootstrap, Brokers
from connect_dagster.kafka.errors import BrokersError, brokers_errors
from connect_dagster.orchestration.checks.connector_checks import (
    CheckOutcome,
    ConnectorAsset,
    by_snapshot,
    connector_assets,
    connector_checks,
    require_brokers,
    snapshots,
)
from connect_dagster.orchestration.cluster import brokers_by_alias, check_sources
from connect_dagster.orchestration.observations.flow_filters import custom_filter, fetch_mirrored_topics
from connect_dagster.orchestration.observations.mirror import mirror_metadata
from connect_dagster.orchestration.observations.snapshot import ConnectorSnapshot
from connect_dagster.orchestration.observations.topic_offsets import (
    Partition,
    fetch_newest_times,
    fetch_topic_bounds,
    fetch_topic_names,
)
from connect_dagster.orchestration.workspace import KafkaConnectWorkspace

if TYPE_CHECKING:
    from connect_dagster.connectors.mirror.clusters import Alteration, TopicSetting

MIRROR_LAG_CHECK = "mirror_lag"
MIRROR_HEARTBEAT_CHECK = "mirror_heartbeat"
MIRROR_DRIFT_CHECK = "mirror_config_drift"
BROKERS_TIMEOUT = 10.0
MOST_ROWS = 50

NO_MIRROR = CheckOutcome(False, "It is not MirrorMaker's source connector")


def build_mirror_lag_checks(
    *,
    workspace: KafkaConnectWorkspace,
    source: KafkaConnectWorkspace,
    connectors: Iterable[ConnectorAsset],
    max_lag: int,
) -> Sequence[dg.AssetChecksDefinition]:
    """Create the check ``mirror_lag`` of each source connector of MirrorMaker.

    It fails when more records of the source than the bound are beyond the connector's committed positions, and warns
    when they cannot be counted. A worker commits positions every ``offset.flush.interval.ms``, a minute by default: the
    bound has to be above what the flow moves in that time. All topics count that the connector's filter chooses in the
    source, also those of which no record has arrived; with a custom filter those that are known to be mirrored. Records
    are counted by offsets, which markers of transactions and records that compaction removed have too.

    Args:
        workspace (KafkaConnectWorkspace): The Connect cluster that runs the connectors, on the target.
        source (KafkaConnectWorkspace): The cluster that is mirrored, with ``kafka_cluster`` and ``bootstrap_servers``.
        connectors (Iterable[str | AssetSpec | AssetsDefinition]): The connectors by name, or as assets.
        max_lag (int): The most records that may be left, over all partitions.

    Returns:
        Sequence[AssetChecksDefinition]: The checks.

    Raises:
        DagsterInvalidDefinitionError: The source has no alias or no brokers.

    Examples:
        .. code-block:: python

            import dagster as dg
            from connect_dagster.orchestration import KafkaConnectWorkspace, build_mirror_lag_checks

            europe = KafkaConnectWorkspace(kafka_cluster="eu", bootstrap_servers="127.0.0.1:9092")
            america = KafkaConnectWorkspace(kafka_cluster="us", bootstrap_servers="127.0.0.1:9192")
            checks = build_mirror_lag_checks(
                workspace=america, source=europe, connectors=["MirrorSourceConnector"], max_lag=1000
            )
            defs = dg.Definitions(asset_checks=checks)
    """
    check_sources([source])

    def judge(
        context: dg.AssetCheckExecutionContext, ready: KafkaConnectWorkspace, keys: Mapping[str, AssetCheckKey]
    ) -> Mapping[str, CheckOutcome]:
        taken, sources = snapshots(context, ready, keys), brokers_by_alias([source])
        return {name: _lag_outcome(one, sources, max_lag) for name, one in taken.items()}

    return connector_checks(
        name=MIRROR_LAG_CHECK,
        description=f"At most {max_lag} records of the source are beyond the committed positions.",
        workspace=workspace,
        assets=connector_assets(workspace, connectors),
        judge=judge,
    )


def _lag_outcome(snapshot: ConnectorSnapshot, sources: Mapping[str, Brokers], max_lag: int) -> CheckOutcome:
    if (reading := snapshot.mirror) is None:
        return NO_MIRROR
    if (source := sources.get(reading.names.source)) is None:
        return other_source(reading.names, sources)

    def counted() -> CheckOutcome:
        topics = [topic for topic, _ in flow_topics(source, snapshot)]
        bounds = fetch_topic_bounds(source, topics, BROKERS_TIMEOUT)
        return mirror_lag_outcome(replace(snapshot, mirror=replace(reading, source_bounds=bounds)), topics, max_lag)

    return of_brokers(counted)


def mirror_lag_outcome(snapshot: ConnectorSnapshot, topics: Collection[str], max_lag: int) -> CheckOutcome:
    """Return the outcome for the lag of a source connector.

    Args:
        snapshot: The connector, with the bounds of the topics.
        topics: The topics in the source that it mirrors.
        max_lag: The most records that may be left.
    """
    if snapshot.mirror is None:
        return NO_MIRROR
    lags = snapshot.mirror.lags(topics)
    metadata = {**mirror_metadata(snapshot.mirror, topics, snapshot.lineage.topics), "max_lag": max_lag}
    if not topics:
        message = f"No topic of '{snapshot.mirror.names.source}' is mirrored: is the connector's filter right?"
        return CheckOutcome(False, message, metadata, AssetCheckSeverity.WARN)
    if lags is None:
        message = "The lag is not known: brokers of the source or the worker did not return the offsets in time"
        return CheckOutcome(False, message, metadata, AssetCheckSeverity.WARN)
    total = sum(lags.values())
    message = f"{total} records are beyond the committed positions; {max_lag} are allowed"
    return CheckOutcome(total <= max_lag, message, metadata)


def build_mirror_heartbeat_checks(
    *, workspace: KafkaConnectWorkspace, connectors: Iterable[ConnectorAsset], max_age_seconds: float = 60.0
) -> Sequence[dg.AssetChecksDefinition]:
    """Create the check ``mirror_heartbeat`` of each source connector of MirrorMaker.

    It fails when the newest heartbeat of the source, or of a cluster from which the source itself is mirrored, is older
    than the bound, and says between which clusters heartbeats are late.

    Args:
        workspace (KafkaConnectWorkspace): The Connect cluster that runs the connectors, with ``bootstrap_servers``.
        connectors (Iterable[str | AssetSpec | AssetsDefinition]): The connectors by name, or as assets.
        max_age_seconds (float): Bound for the age of a heartbeat. Defaults to 60.

    Returns:
        Sequence[AssetChecksDefinition]: The checks.

    Raises:
        DagsterInvalidDefinitionError: The workspace has no ``bootstrap_servers``.

    Examples:
        .. code-block:: python

            import dagster as dg
            from connect_dagster.orchestration import KafkaConnectWorkspace, build_mirror_heartbeat_checks

            workspace = KafkaConnectWorkspace(bootstrap_servers="127.0.0.1:9192")
            checks = build_mirror_heartbeat_checks(workspace=workspace, connectors=["MirrorSourceConnector"])
            defs = dg.Definitions(asset_checks=checks)
    """
    require_brokers(workspace, "heartbeats")
    return connector_checks(
        name=MIRROR_HEARTBEAT_CHECK,
        description=f"Heartbeats of the source are at most {max_age_seconds:g} s old.",
        workspace=workspace,
        assets=connector_assets(workspace, connectors),
        judge=by_snapshot(lambda one, ready: _heartbeat_outcome(one, ready.brokers, max_age_seconds)),
    )


def _heartbeat_outcome(snapshot: ConnectorSnapshot, target: Brokers | None, max_age: float) -> CheckOutcome:
    reading = snapshot.mirror
    if reading is None or target is None:
        return NO_MIRROR

    def compared() -> CheckOutcome:
        topics = heartbeat_routes(reading.names, fetch_topic_names(target, BROKERS_TIMEOUT))
        newest = fetch_newest_times(target, topics, BROKERS_TIMEOUT)
        return heartbeat_outcome(reading.names, heartbeat_ages(topics, newest, reading.read_at), max_age)

    return of_brokers(compared)


def heartbeat_routes(names: MirrorNames, topics: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the topics in the target with heartbeats that came over the source, each with the clusters on their way.

    Args:
        names: The flow.
        topics: All topics in the target.
    """
    found = {topic: names.sources(topic) for topic in topics if names.policy.is_heartbeats_topic(topic)}
    return {topic: sources for topic, sources in found.items() if sources[:1] == (names.source,)}


def heartbeat_ages(
    topics: Mapping[str, tuple[str, ...]], newest: Mapping[Partition, float], now: float
) -> dict[tuple[str, ...], float]:
    """Return the seconds since the newest heartbeat by the clusters on its way.

    Args:
        topics: As of :func:`heartbeat_routes`.
        newest: Time of the newest record of each partition, in epoch seconds.
        now: Epoch seconds.
    """
    ages: dict[tuple[str, ...], float] = {}
    for (topic, _), time in newest.items():
        age = max(0.0, now - time)
        ages[topics[topic]] = min(age, ages.get(topics[topic], age))
    return ages


def heartbeat_outcome(names: MirrorNames, ages: Mapping[tuple[str, ...], float], max_age: float) -> CheckOutcome:
    """Return the outcome for the heartbeats of a flow.

    Args:
        names: The flow.
        ages: Seconds since the newest heartbeat by the clusters on its way, the last one first.
        max_age: Largest allowed age, in seconds.
    """
    direct = ages.get((names.source,))
    if direct is None:
        message = f"No heartbeat of '{names.source}' has arrived: is there a heartbeat connector to it, and does "
        return CheckOutcome(False, f"{message}the flow {names.flow} replicate heartbeats?")
    rows = [
        TableRecord({"way": "->".join([*reversed(route), names.target]), "age_seconds": age})
        for route, age in sorted(ages.items())[:MOST_ROWS]
    ]
    columns = TableSchema([TableColumn("way"), TableColumn("age_seconds", "float")])
    metadata: dict[str, Any] = {
        "heartbeat_age_seconds": float(direct),
        "heartbeats": MetadataValue.table(rows, schema=columns),
        "max_age_seconds": float(max_age),
    }
    late = sorted({late_hop(route, ages, names.target, max_age) for route, age in ages.items() if age > max_age})
    if late:
        message = f"Heartbeats are late from {', '.join(late)}; {max_age:g} s are allowed"
        if direct <= max_age:
            message += ". Of a cluster that is gone delete the topics with its heartbeats in all others"
        return CheckOutcome(False, message, metadata)
    return CheckOutcome(True, f"The newest heartbeat of '{names.source}' is {direct:.1f} s old", metadata)


def late_hop(route: Sequence[str], ages: Mapping[tuple[str, ...], float], target: str, max_age: float) -> str:
    """Return the hop nearest to the target at which heartbeats are late.

    Args:
        route: Clusters on the way of late heartbeats, the last one first.
        ages: Seconds since the newest heartbeat of each way.
        target: Where all of them arrive.
        max_age: Largest allowed age, in seconds.
    """
    hops = zip(route, [target, *route], strict=False)
    for number, (start, end) in enumerate(hops, start=1):
        age = ages.get(tuple(route[:number]))
        if age is not None and age > max_age:
            return f"{start} to {end}"
    raise AssertionError(f"{route} is not late")


def build_mirror_config_drift_checks(
    *,
    workspace: KafkaConnectWorkspace,
    source: KafkaConnectWorkspace,
    connectors: Iterable[ConnectorAsset],
) -> Sequence[dg.AssetChecksDefinition]:
    """Create the check ``mirror_config_drift`` of each source connector of MirrorMaker.

    It fails when a setting that MirrorMaker copies has another value on a mirrored topic than on its source: as after a
    change by hand, or with ``sync.topic.configs.enabled=false``.

    Args:
        workspace (KafkaConnectWorkspace): The Connect cluster that runs the connectors, with ``bootstrap_servers``.
        source (KafkaConnectWorkspace): The cluster that is mirrored, with ``kafka_cluster`` and ``bootstrap_servers``.
        connectors (Iterable[str | AssetSpec | AssetsDefinition]): The connectors by name, or as assets.

    Returns:
        Sequence[AssetChecksDefinition]: The checks.

    Raises:
        DagsterInvalidDefinitionError: One of the workspaces has no brokers, or the source has no alias.

    Examples:
        .. code-block:: python

            import dagster as dg
            from connect_dagster.orchestration import KafkaConnectWorkspace, build_mirror_config_drift_checks

            europe = KafkaConnectWorkspace(kafka_cluster="eu", bootstrap_servers="127.0.0.1:9092")
            america = KafkaConnectWorkspace(kafka_cluster="us", bootstrap_servers="127.0.0.1:9192")
            checks = build_mirror_config_drift_checks(
                workspace=america, source=europe, connectors=["MirrorSourceConnector"]
            )
            defs = dg.Definitions(asset_checks=checks)
    """
    require_brokers(workspace, "mirrored settings")
    check_sources([source])

    def judge(
        context: dg.AssetCheckExecutionContext, ready: KafkaConnectWorkspace, keys: Mapping[str, AssetCheckKey]
    ) -> Mapping[str, CheckOutcome]:
        taken, sources = snapshots(context, ready, keys), brokers_by_alias([source])
        return {name: _drift_outcome(one, sources, ready.brokers) for name, one in taken.items()}

    return connector_checks(
        name=MIRROR_DRIFT_CHECK,
        description="Mirrored topics have the settings of their sources.",
        workspace=workspace,
        assets=connector_assets(workspace, connectors),
        judge=judge,
    )


def _drift_outcome(snapshot: ConnectorSnapshot, sources: Mapping[str, Brokers], target: Brokers | None) -> CheckOutcome:
    if snapshot.mirror is None or target is None:
        return NO_MIRROR
    names = snapshot.mirror.names
    if (source := sources.get(names.source)) is None:
        return other_source(names, sources)
    config = {key: value for key, value in snapshot.connector.info.config.items() if value is not None}
    if (own := custom_filter(config, "config.property.filter.class")) is not None:
        message = f"The settings that the connector's own filter {own} selects are not known here"
        return CheckOutcome(False, message, severity=AssetCheckSeverity.WARN)

    def compared() -> CheckOutcome:
        # In runs only: definitions load no connector's code.
        from connect_dagster.connectors.mirror.filters import DefaultConfigPropertyFilter
        from connect_dagster.connectors.mirror.source.topics import alterations_of_topic

        properties = DefaultConfigPropertyFilter()
        properties.configure(config)
        pairs = flow_topics(source, snapshot)
        wanted = topic_settings(source, [upstream for upstream, _ in pairs])
        found = topic_settings(target, [mirrored for _, mirrored in pairs])
        differences = {
            mirrored: different_settings(alterations_of_topic(wanted[upstream], properties), found[mirrored])
            for upstream, mirrored in pairs
            if upstream in wanted and mirrored in found
        }
        return drift_outcome(differences)

    return of_brokers(compared)


def different_settings(
    wanted: Iterable["Alteration"], found: Iterable["TopicSetting"]
) -> dict[str, tuple[str | None, str | None]]:
    """Return settings of a mirrored topic that are not those of its source: wanted and found values by name.

    Args:
        wanted: What the source's settings would make of them; a value of None is the target's default.
        found: Settings of the mirrored topic.
    """
    known = {one.name: one for one in found}
    different: dict[str, tuple[str | None, str | None]] = {}
    for one in wanted:
        own = known.get(one.name)
        if own is None:
            continue  # brokers of another version may not have it
        # A default of the target's brokers stays when MirrorMaker deletes the topic's value.
        if own.is_own if one.value is None else own.value != one.value:
            different[one.name] = one.value, own.value
    return different


def drift_outcome(differences: Mapping[str, Mapping[str, tuple[str | None, str | None]]]) -> CheckOutcome:
    """Return the outcome for the settings of mirrored topics.

    Args:
        differences: By topic in the target, wanted and found values by setting.
    """
    rows = [
        TableRecord({"topic": topic, "setting": name, "wanted": _shown(wanted), "found": _shown(found)})
        for topic, settings in sorted(differences.items())
        for name, (wanted, found) in sorted(settings.items())
    ]
    metadata: dict[str, Any] = {"topic_count": len(differences), "changed_settings": len(rows)}
    if not differences:
        message = "No mirrored topic is in both clusters: nothing can be compared"
        return CheckOutcome(False, message, metadata, AssetCheckSeverity.WARN)
    if not rows:
        return CheckOutcome(True, f"{len(differences)} mirrored topics have the settings of their sources", metadata)
    columns = TableSchema([TableColumn(name) for name in ("topic", "setting", "wanted", "found")])
    metadata["settings"] = MetadataValue.table(rows[:MOST_ROWS], schema=columns)
    topics = sorted(topic for topic, settings in differences.items() if settings)
    return CheckOutcome(False, f"{len(rows)} settings differ, of {', '.join(topics[:10])}", metadata)


def _shown(value: str | None) -> str:
    return "default" if value is None else value


def mirrored_topics(lineage: ConnectorLineage) -> list[tuple[str, str]]:
    """Return the topics of the source that a connector mirrors, each with its name in the target."""
    return [
        (route.source.topic, route.target.topic)
        for route in lineage.routes
        if isinstance(route.source, KafkaConnectTopicProps) and isinstance(route.target, KafkaConnectTopicProps)
    ]


def flow_topics(source: Bootstrap, snapshot: ConnectorSnapshot) -> list[tuple[str, str]]:
    """Read the topics of the source that a connector mirrors, each with its name in the target.

    They are those that its filter chooses; where a class of the user does, those that it is known to have mirrored.

    Args:
        source: Brokers of the source.
        snapshot: The connector.

    Raises:
        KafkaException: The brokers do not respond in time.
    """
    config = snapshot.connector.info.config
    names, chosen = MirrorNames.of(config), fetch_mirrored_topics(source, config, BROKERS_TIMEOUT)
    if chosen is None:
        return mirrored_topics(snapshot.lineage)
    return [(topic, remote) for topic in chosen if (remote := names.remote(topic)) is not None]


def other_source(names: MirrorNames, sources: Iterable[str]) -> CheckOutcome:
    """Return the outcome for a connector that mirrors another cluster than the check is made for."""
    return CheckOutcome(False, f"It mirrors '{names.source}', and not {', '.join(sources)}")


def of_brokers(compare: Callable[[], CheckOutcome]) -> CheckOutcome:
    """Return the outcome of requests to brokers; a warning when they fail."""
    try:
        with brokers_errors():
            return compare()
    except BrokersError as error:
        return CheckOutcome(False, f"It could not be checked: {error}", severity=AssetCheckSeverity.WARN)


def topic_settings(brokers: Bootstrap, topics: Sequence[str]) -> dict[str, list["TopicSetting"]]:
    """Return the settings of those of the topics that exist. Raises KafkaException."""
    from connect_dagster.connectors.mirror.clusters import ForwardingAdmin

    admin = ForwardingAdmin.of(brokers, BROKERS_TIMEOUT)
    existing = admin.topics()
    return admin.topic_settings([topic for topic in topics if topic in existing])
