"""Assemble and run a worker of a group (Java: ``ConnectDistributed.createHerder``): all stores are topics."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from connect_dagster.cli.worker.process import Parts, WorkerProcess, log_stop
from connect_dagster.herder.connector_offsets import OffsetEditor
from connect_dagster.herder.distributed.config import DistributedConfig
from connect_dagster.herder.distributed.group_driver import GroupDriver
from connect_dagster.herder.distributed.herder import DistributedHerder
from connect_dagster.herder.interface import Herder
from connect_dagster.herder.validation.missing_plugins import check_plugins
from connect_dagster.herder.validation.validator import Validator
from connect_dagster.kafka.topic_admin import TopicAdmin
from connect_dagster.protocol.config_state import Event
from connect_dagster.storage.config_store import ConfigStore
from connect_dagster.storage.internal_topics import config_topic, offset_topic, status_topic
from connect_dagster.storage.kafka_offset_store import KafkaOffsetStore
from connect_dagster.storage.kafka_status_store import StatusStore
from connect_dagster.storage.lease import Lease
from connect_dagster.worker.spark.jvm import SparkJvm
from connect_dagster.worker.worker import Worker


def run(props: Mapping[str, str], jvm: SparkJvm, ending: threading.Event, began: float) -> int:
    """Run a worker of a group until ``ending`` is set; return the exit code.

    Args:
        props: the worker's properties.
        jvm: the starting JVM for its Spark session.
        ending: ends the worker when set.
        began: when the process began (``time.monotonic``), for the log.
    """
    try:
        process = DistributedProcess(DistributedConfig, props, jvm, began)
    except Exception as error:
        jvm.stop(0)
        log_stop("Stopping due to error", error)
        return 2
    try:
        return process.run_until(ending)
    finally:
        process.stop()


class DistributedProcess(WorkerProcess[DistributedConfig]):
    """The process of a worker in a group."""

    def _open_storage(self, config: DistributedConfig) -> None:
        prefix = f"{config.group_id}-{config.client_id}-" if config.client_id else f"{config.group_id}-"
        clients = {
            "bootstrap.servers": config.bootstrap_servers,
            **config.client_settings,
            "group.id": config.group_id,
            "client.id": prefix,
        }
        self._admin = admin = TopicAdmin({**clients, "client.id": f"{prefix}shared-admin"})
        self._lease = Lease(config.session_timeout_ms / 1000)
        self._offsets = KafkaOffsetStore(
            offset_topic(
                config.offset_storage_topic,
                config.offset_storage_partitions,
                config.offset_storage_replication_factor,
                config.topic_settings("offset.storage."),
            ),
            clients,
            admin,
            config.offset_flush_timeout_ms / 1000,
            lambda: self._lease.held,
        )
        self._statuses = StatusStore(
            status_topic(
                config.status_storage_topic,
                config.status_storage_partitions,
                config.status_storage_replication_factor,
                config.topic_settings("status.storage."),
            ),
            clients,
            admin,
            lambda: self._lease.held,
        )
        configs = config_topic(
            config.config_storage_topic,
            config.config_storage_replication_factor,
            config.topic_settings("config.storage."),
        )

        def open_configs(listener: Callable[[Event], None]) -> ConfigStore:
            return ConfigStore(configs, clients, admin, listener, lambda: self._lease.held)

        self._open_configs = open_configs

    def _start_herder(self, parts: Parts[DistributedConfig]) -> Herder:
        config = parts.config
        worker = Worker(parts.worker_id, config, parts.plugins, parts.session, self._offsets, parts.transformer)
        editor = OffsetEditor(
            parts.plugins, self._offsets, parts.admin.for_connector, parts.admin.seconds, parts.transformer
        )
        group = GroupDriver(
            config,
            worker,
            self._offsets,
            self._open_configs,
            self._statuses,
            self._lease,
            parts.url,
            parts.rest,
            lambda state: check_plugins(state, parts.plugins, config.missing_plugins),
        )
        validator = Validator(parts.plugins, config, config.group_id, parts.transformer)
        self._herder = DistributedHerder(worker, validator, editor, parts.server, group)
        self._herder.start()
        return self._herder

    def _stop_herder(self) -> None:
        self._admin.stop()
        self._herder.stop()

    def _failure(self) -> Exception | None:
        return self._herder.failure
