"""Assemble and run a worker of a group (Java: ``ConnectDistributed.createHerder``): all stores are topics."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from connect_dagster.cli.worker.process import Parts, WorkerProcess, log_start_failure
from connect_dagster.errors import ConnectError
from connect_dagster.herder.connector_offsets import OffsetEditor
from connect_dagster.herder.distributed.config import DistributedConfig
from connect_dagster.herder.distributed.group_driver import GroupDriver
from connect_dagster.herder.distributed.herder import DistributedHerder
from connect_dagster.herder.distributed.leader_client import LeaderClient
from connect_dagster.herder.interface import Herder
from connect_dagster.herder.validation.validator import Validator
from connect_dagster.isolation.plugins import Plugins
from connect_dagster.kafka.topic_admin import TopicAdmin
from connect_dagster.protocol.config_state import ClusterConfigState, Event
from connect_dagster.storage.config_store import ConfigStore
from connect_dagster.storage.internal_topics import config_topic, offset_topic, status_topic
from connect_dagster.storage.kafka_offset_store import KafkaOffsetStore
from connect_dagster.storage.kafka_status_store import StatusStore
from connect_dagster.storage.lease import Lease
from connect_dagster.storage.topic_log import READ_COMMITTED
from connect_dagster.worker.spark.session_start import SessionStart
from connect_dagster.worker.worker import Worker

_CONVERTERS = ("key.converter", "value.converter", "header.converter")


def run(props: Mapping[str, str], session: SessionStart, ending: threading.Event, began: float) -> int:
    """Run a worker of a group until ``ending`` is set; return the exit code.

    Args:
        props: the worker's properties.
        session: the starting Spark session.
        ending: ends the worker when set.
        began: when the process began (``time.monotonic``), for the log.
    """
    try:
        process = DistributedProcess(DistributedConfig, props, session, began)
    except Exception as error:
        session.stop()
        log_start_failure(error)
        return 2
    try:
        process.warm_up()
        return process.run_until(ending)
    finally:
        process.stop()


@dataclass(frozen=True, slots=True)
class GroupStores:
    """The topics of a group, as one worker reads and writes them.

    Attributes:
        admin: for the topics.
        lease: of the worker's membership, without which nothing is written.
        offsets: the offset topic.
        statuses: the status topic.
        open_configs: makes the store of the config topic, from a listener to its events.
    """

    admin: TopicAdmin
    lease: Lease
    offsets: KafkaOffsetStore
    statuses: StatusStore
    open_configs: Callable[[Callable[[Event], None]], ConfigStore]

    @classmethod
    def of(cls, config: DistributedConfig) -> GroupStores:
        """Return the stores that a worker's configuration names; nothing is read yet."""
        prefix = f"{config.group_id}-{config.client_id}-" if config.client_id else f"{config.group_id}-"
        clients = {
            "bootstrap.servers": config.bootstrap_servers,
            **config.client_settings,
            "group.id": config.group_id,
            "client.id": prefix,
        }
        admin = TopicAdmin({**clients, "client.id": f"{prefix}shared-admin"})
        lease = Lease(config.session_timeout_ms / 1000)
        offsets = offset_topic(
            config.offset_storage_topic,
            config.offset_storage_partitions,
            config.offset_storage_replication_factor,
            config.topic_settings("offset.storage."),
        )
        statuses = status_topic(
            config.status_storage_topic,
            config.status_storage_partitions,
            config.status_storage_replication_factor,
            config.topic_settings("status.storage."),
        )
        configs = config_topic(
            config.config_storage_topic,
            config.config_storage_replication_factor,
            config.topic_settings("config.storage."),
        )
        # Offsets of an aborted transaction, and configurations of a leader that was fenced out, do not exist.
        reading = {**clients, "isolation.level": READ_COMMITTED} if config.has_exactly_once_sources else clients
        return cls(
            admin,
            lease,
            KafkaOffsetStore(offsets, reading, admin, config.offset_flush_timeout_ms / 1000, lambda: lease.held),
            StatusStore(statuses, clients, admin, lambda: lease.held),
            lambda listener: ConfigStore(
                configs, reading, admin, listener, lambda: lease.held, fencing_id=config.leader_fencing_id
            ),
        )


def herder_of(
    parts: Parts[DistributedConfig],
    stores: GroupStores,
    on_leading: Callable[[], None] = lambda: None,
    namespace: str = "",
) -> DistributedHerder:
    """Return the herder of a worker of a group; it is not started yet.

    Args:
        parts: of the worker.
        stores: of its group.
        on_leading: called each time the worker becomes the leader.
        namespace: of the group in paths of the REST API (see ``LeaderClient``).
    """
    config = parts.config
    worker = Worker(
        parts.worker_id,
        config,
        parts.plugins,
        parts.session,
        stores.offsets,
        parts.transformer,
        lambda: stores.lease.held,
    )
    group = GroupDriver(
        config,
        worker,
        stores.offsets,
        stores.open_configs,
        stores.statuses,
        stores.lease,
        parts.url,
        LeaderClient(parts.rest, config.inter_worker_signature_algorithm, namespace),
        lambda state: _check_plugins(state, parts.plugins, config.missing_plugins),
        on_leading=on_leading,
    )
    editor = OffsetEditor(
        parts.plugins,
        stores.offsets,
        parts.admin.for_connector,
        parts.admin.seconds,
        parts.transformer,
        group.fencing.save_offsets if config.has_exactly_once_sources else None,
    )
    validator = Validator(parts.plugins, config, config.group_id, parts.transformer)
    return DistributedHerder(worker, validator, editor, parts.server, group)


class DistributedProcess(WorkerProcess[DistributedConfig]):
    """The process of a worker in a group."""

    def _open_storage(self, config: DistributedConfig) -> None:
        self._stores = GroupStores.of(config)

    def _start_herder(self, parts: Parts[DistributedConfig]) -> Herder:
        self._herder = herder_of(parts, self._stores)
        self._herder.start()
        return self._herder

    def _stop_herder(self) -> None:
        self._stores.admin.stop()
        self._herder.stop()

    def _failure(self) -> Exception | None:
        return self._herder.failure


def _check_plugins(state: ClusterConfigState, plugins: Plugins, action: str) -> None:
    """Refuse to join a group whose connectors this worker could not run.

    Connect's protocol does not carry what a worker can run: any worker may be assigned any connector. A worker that
    lacks one, such as a Python worker in a Java cluster, refuses before it joins. Java has no such check.

    Args:
        state: the group's configuration.
        plugins: what this worker has.
        action: ``missing.plugins`` of the worker; ``join`` skips the check.

    Raises:
        ConnectError: something is missing; lists all of it.
    """
    missing = sorted(_missing(state, plugins))
    if not missing or action == "join":
        return
    listed = "\n".join(f"- {name} ({key} of connector {connector})" for connector, key, name in missing)
    raise ConnectError(
        "This worker does not join the group, because it lacks plugins that the group's connectors use:\n"
        f"{listed}\n"
        "Put them on plugin.path, name their packages in plugin.packages, or set missing.plugins=join to join all the "
        "same: such connectors and tasks then fail when they are assigned to this worker."
    )


def _missing(state: ClusterConfigState, plugins: Plugins) -> Iterator[tuple[str, str, str]]:
    for connector in state.connectors():
        config = state.connector_config(connector) or {}
        name = config.get("connector.class")
        if name and not _has_connector(plugins, name):
            yield connector, "connector.class", name
        for key in (*_CONVERTERS, *_aliased(config)):
            name = config.get(key)
            if name and plugins.class_named(name) is None:
                yield connector, key, name


def _aliased(config: dict[str, str | None]) -> list[str]:
    """Return the keys of the classes of transforms and predicates."""
    return [
        f"{kind}.{alias.strip()}.type"
        for kind in ("transforms", "predicates")
        for alias in (config.get(kind) or "").split(",")
        if alias.strip()
    ]


def _has_connector(plugins: Plugins, name: str) -> bool:
    try:
        plugins.connector(name)
    except ConnectError:
        return False
    return True
