"""Polls of connectors on a worker, and of their topics' bounds on the brokers, for sensors and jobs.

Data of a connector that cannot be read is a warning: its states are reported in any case. All requests
are bounded, so that a poll of any number of connectors ends in time: see the constants.
"""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TypeVar

from confluent_kafka import KafkaException

from connect_dagster.client.captures import CaptureReading, capture_reading, is_capture
from connect_dagster.client.datasets import topic_names
from connect_dagster.client.lineage import connector_lineage
from connect_dagster.client.mirror_names import MirrorNames
from connect_dagster.client.plugin_secrets import PARALLEL_REQUESTS, with_secret_keys
from connect_dagster.client.progress import sink_progress
from connect_dagster.client.rest_client import KafkaConnectError
from connect_dagster.client.types import Connector, Direction, MetricSample, TaskProgress
from connect_dagster.errors import ConnectError
from connect_dagster.kafka.access import Bootstrap
from connect_dagster.orchestration.cluster import ConnectCluster
from connect_dagster.orchestration.observations.mirror import (
    MIRROR_SOURCE,
    MirrorReading,
    checkpointed_groups,
    is_mirror,
    mirrored_positions,
    reads_from_end,
    replication_latencies,
)
from connect_dagster.orchestration.observations.snapshot import ConnectorSnapshot
from connect_dagster.orchestration.observations.topic_offsets import (
    Bounds,
    Partition,
    fetch_newest_times,
    fetch_topic_bounds,
)

# Dagster ends a tick after a minute. Connectors are asked for until this many seconds after it began; the batch under
# way then takes two requests more at most, and the brokers, of all clusters at once, three.
READING_SECONDS = 20.0
REQUEST_TIMEOUT = 5.0
ADMIN_TIMEOUT = 3.0

GENERATION_METRIC = "kafka_connect_worker_rebalance_epoch"

Read = TypeVar("Read")


class ConnectorPoll:
    """One poll of a worker; collects warnings.

    Args:
        workspace: The cluster.
        sources: Kafka clusters that its connectors mirror, by their aliases.
    """

    def __init__(self, workspace: ConnectCluster, sources: Mapping[str, Bootstrap] | None = None) -> None:
        # Patient, but not for as long as a rebalance may take: the next poll comes soon.
        self.client = workspace.get_client(timeout=REQUEST_TIMEOUT, retries=workspace.request_max_retries)
        self.warnings: list[str] = []
        self._brokers = workspace.brokers
        self._sources = sources or {}
        self._bootstrap_servers = workspace.bootstrap_servers
        self._data_key_prefix = workspace.data_key_prefix
        self._kafka_cluster = workspace.kafka_cluster
        # Thousands of small requests cannot each be patient.
        self._once = workspace.get_client(timeout=REQUEST_TIMEOUT, retries=0)
        self._deadline = time.monotonic() + READING_SECONDS
        self._samples: Sequence[MetricSample] | None = None

    def connectors(self) -> dict[str, Connector]:
        """Return configurations and states by name, with the secret keys of the plugins. Raises KafkaConnectError."""
        return with_secret_keys(self._once, self.client.connectors())

    def generation(self) -> int | None:
        """Return the generation of the worker's group; None from a Java worker, whose REST API does not have it."""
        found = (one.value for one in self._metrics() if one.name == GENERATION_METRIC and not one.labels)
        generation = next(found, None)
        return None if generation is None else int(generation)

    def snapshots(self, connectors: Iterable[Connector]) -> Iterator[ConnectorSnapshot]:
        """Return snapshots of connectors in their order, as many as there is time for."""
        taken = list(self._asked(list(connectors)))
        samples = self._metrics() if any(_has_metrics(one) for one in taken) else ()
        # At once, as the time for requests to brokers is that of one after the other to one cluster.
        with ThreadPoolExecutor(1) as pool:
            mirrors = pool.submit(self._mirrors, taken, samples)
            bounded = self._with_bounds(taken)
        flows, readings = mirrors.result(), _captures(taken, samples)
        return (
            replace(
                one,
                mirror=flows.get(one.connector.name),
                capture=readings.get(one.connector.name),
                reading=sink_progress(one.connector, samples) if _is_sink(one) else (),
            )
            for one in bounded
        )

    def _asked(self, connectors: Sequence[Connector]) -> Iterator[ConnectorSnapshot]:
        progress = self._readable(self._once.progress) or {}
        with ThreadPoolExecutor(PARALLEL_REQUESTS) as pool:
            for start in range(0, len(connectors), PARALLEL_REQUESTS):
                batch = connectors[start : start + PARALLEL_REQUESTS]
                yield from pool.map(lambda connector: self._snapshot(connector, progress), batch)
                if time.monotonic() > self._deadline:
                    return

    def _snapshot(self, connector: Connector, progress: Mapping[str, TaskProgress]) -> ConnectorSnapshot:
        name = connector.name
        topics = self._readable(lambda: self._once.active_topics(name)) or []
        tasks = [f"{name}-{task.id}" for task in connector.status.tasks]
        lineage = connector_lineage({**connector.info.config, "name": name}, topics, connector.status.type)
        return ConnectorSnapshot(
            connector,
            lineage.located(self._bootstrap_servers, self._data_key_prefix, self._kafka_cluster),
            self._readable(lambda: tuple(self._once.offsets(name))),
            {task: progress[task] for task in tasks if task in progress},
        )

    def _with_bounds(self, snapshots: Sequence[ConnectorSnapshot]) -> Sequence[ConnectorSnapshot]:
        """Return the snapshots with the bounds of their topics, fetched at once; unchanged when brokers fail."""
        if self._brokers is None or not snapshots:
            return snapshots
        brokers, topics = self._brokers, {topic for snapshot in snapshots for topic in snapshot.topics}
        bounds = self._of_brokers("end offsets and lag", lambda: fetch_topic_bounds(brokers, topics, ADMIN_TIMEOUT))
        return snapshots if bounds is None else [snapshot.with_bounds(bounds) for snapshot in snapshots]

    def _metrics(self) -> Sequence[MetricSample]:
        """Return the metrics of the worker, which are requested once; none from a Java worker."""
        if self._samples is None:
            self._samples = self._readable(self._once.metric_samples) or ()
        return self._samples

    def _mirrors(
        self, snapshots: Sequence[ConnectorSnapshot], samples: Sequence[MetricSample]
    ) -> dict[str, MirrorReading]:
        """Return readings of flows by their source connectors; each cluster is asked once for all its topics."""
        mirrors = [one for one in snapshots if is_mirror(one.connector, MIRROR_SOURCE)]
        if not mirrors:
            return {}
        names = {one.connector.name: MirrorNames.of(one.connector.info.config) for one in mirrors}
        sources: dict[str, set[str]] = {}
        for one in mirrors:
            sources.setdefault(names[one.connector.name].source, set()).update(topic_names(one.lineage.inputs))
        # All at once, however many clusters: none may wait for another one that does not respond.
        with ThreadPoolExecutor(1 + len(sources)) as pool:
            newest = pool.submit(self._newest, mirrors, list(names.values()))
            bounds = {alias: pool.submit(self._source_bounds, alias, topics) for alias, topics in sources.items()}
        return {
            one.connector.name: MirrorReading(
                flow,
                time.time(),
                None if one.offsets is None else mirrored_positions(one.offsets, flow.source),
                bounds[flow.source].result(),
                newest.result(),
                replication_latencies(samples, flow),
                checkpointed_groups(samples, flow),
                reads_from_end(one.connector.info.config),
            )
            for one, flow in zip(mirrors, names.values(), strict=True)
        }

    def _newest(
        self, mirrors: Sequence[ConnectorSnapshot], flows: Sequence[MirrorNames]
    ) -> Mapping[Partition, float] | None:
        if (brokers := self._brokers) is None:
            return None
        topics = {topic for one in mirrors for topic in one.lineage.topics}
        topics |= {topic for flow in flows for topic in (flow.heartbeats, flow.checkpoints)}
        return self._of_brokers("ages of mirrored records", lambda: fetch_newest_times(brokers, topics, ADMIN_TIMEOUT))

    def _source_bounds(self, alias: str, topics: Collection[str]) -> Mapping[Partition, Bounds] | None:
        if (brokers := self._sources.get(alias)) is None:
            return None
        return self._of_brokers(
            f"lag of mirroring from '{alias}'", lambda: fetch_topic_bounds(brokers, topics, ADMIN_TIMEOUT)
        )

    def _of_brokers(self, what: str, read: Callable[[], Read]) -> Read | None:
        try:
            return read()
        except (KafkaException, ConnectError) as error:
            self.warnings.append(f"No {what} this time: {error}")
            return None

    def _readable(self, read: Callable[[], Read]) -> Read | None:
        try:
            return read()
        except KafkaConnectError as error:
            self.warnings.append(str(error))
            return None


def _captures(snapshots: Sequence[ConnectorSnapshot], samples: Sequence[MetricSample]) -> dict[str, CaptureReading]:
    """Return readings of the connectors that capture changes."""
    captures = [one for one in snapshots if is_capture(one.connector)]
    return {one.connector.name: capture_reading(one.connector, one.offsets, samples, time.time()) for one in captures}


def _is_sink(snapshot: ConnectorSnapshot) -> bool:
    return snapshot.lineage.direction is Direction.SINK


def _has_metrics(snapshot: ConnectorSnapshot) -> bool:
    """Return whether metrics of the worker belong to a snapshot."""
    connector = snapshot.connector
    return _is_sink(snapshot) or is_capture(connector) or is_mirror(connector, MIRROR_SOURCE)
