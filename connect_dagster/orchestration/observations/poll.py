"""Polls of connectors on a worker, and of their topics' bounds on the brokers, for sensors and jobs.

Data of a connector that cannot be read is a warning: its states are reported in any case. All requests
are bounded, so that a poll of any number of connectors ends in time: see the constants.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from confluent_kafka import KafkaException

from connect_dagster.client.lineage import connector_lineage
from connect_dagster.client.plugin_secrets import PARALLEL_REQUESTS, with_secret_keys
from connect_dagster.client.rest_client import KafkaConnectError
from connect_dagster.client.types import Connector, TaskProgress
from connect_dagster.errors import ConnectError
from connect_dagster.orchestration.cluster import ConnectCluster
from connect_dagster.orchestration.observations.snapshot import ConnectorSnapshot
from connect_dagster.orchestration.observations.topic_offsets import fetch_topic_bounds

# A tick is to end within 40 s. Connectors are asked for until this many seconds after it began; the batch under way
# then takes two requests more at most, and the brokers three.
READING_SECONDS = 20.0
REQUEST_TIMEOUT = 5.0
ADMIN_TIMEOUT = 3.0

GENERATION_METRIC = "kafka_connect_worker_rebalance_epoch"

Read = TypeVar("Read")


class ConnectorPoll:
    """One poll of a worker; collects warnings."""

    def __init__(self, workspace: ConnectCluster) -> None:
        # Patient, but not for as long as a rebalance may take: the next poll comes soon.
        self.client = workspace.get_client(timeout=REQUEST_TIMEOUT, retries=workspace.request_max_retries)
        self.warnings: list[str] = []
        self._brokers = workspace.brokers
        self._bootstrap_servers = workspace.bootstrap_servers
        self._data_key_prefix = workspace.data_key_prefix
        # Thousands of small requests cannot each be patient.
        self._once = workspace.get_client(timeout=REQUEST_TIMEOUT, retries=0)
        self._deadline = time.monotonic() + READING_SECONDS

    def connectors(self) -> dict[str, Connector]:
        """Return configurations and states by name, with the secret keys of the plugins. Raises KafkaConnectError."""
        return with_secret_keys(self._once, self.client.connectors())

    def generation(self) -> int | None:
        """Return the generation of the worker's group; None from a Java worker, whose REST API does not have it."""
        generation = (self._readable(self._once.metrics) or {}).get(GENERATION_METRIC)
        return None if generation is None else int(generation)

    def snapshots(self, connectors: Iterable[Connector]) -> Iterator[ConnectorSnapshot]:
        """Return snapshots of connectors in their order, as many as there is time for."""
        return iter(self._with_bounds(list(self._asked(list(connectors)))))

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
            lineage.located(self._bootstrap_servers, self._data_key_prefix),
            self._readable(lambda: tuple(self._once.offsets(name))),
            {task: progress[task] for task in tasks if task in progress},
        )

    def _with_bounds(self, snapshots: Sequence[ConnectorSnapshot]) -> Sequence[ConnectorSnapshot]:
        """Return the snapshots with the bounds of their topics, fetched at once; unchanged when brokers fail."""
        if self._brokers is None or not snapshots:
            return snapshots
        topics = {topic for snapshot in snapshots for topic in snapshot.topics}
        try:
            bounds = fetch_topic_bounds(self._brokers, topics, ADMIN_TIMEOUT)
        except (KafkaException, ConnectError) as error:
            self.warnings.append(f"No end offsets and lag this time: {error}")
            return snapshots
        return [snapshot.with_bounds(bounds) for snapshot in snapshots]

    def _readable(self, read: Callable[[], Read]) -> Read | None:
        try:
            return read()
        except KafkaConnectError as error:
            self.warnings.append(str(error))
            return None
