"""The parts of a standalone worker, from its configuration to its last connector, and their order."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping, Sequence

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from connect_dagster.herder.connector_offsets import OffsetEditor
from connect_dagster.herder.interface import ServerInfo
from connect_dagster.herder.standalone import StandaloneHerder
from connect_dagster.herder.validation import Validator
from connect_dagster.plugin.config import Type, parse_value
from connect_dagster.plugin.errors import ConnectError
from connect_dagster.rest.listeners import Advertised
from connect_dagster.rest.server import RestServer
from connect_dagster.worker import clients
from connect_dagster.worker.config import StandaloneConfig
from connect_dagster.worker.connector_file import read_connector_file
from connect_dagster.worker.jvm import SparkJvm
from connect_dagster.worker.offset_file import FileOffsetStore
from connect_dagster.worker.plugins import Plugins
from connect_dagster.worker.session import Session
from connect_dagster.worker.spark_settings import spark_settings
from connect_dagster.worker.worker import Worker

log = logging.getLogger(__name__)

# The Kafka Connect whose REST API this is.
VERSION, COMMIT = "4.3.1", "26b251a451ce941d"
_CLUSTER_SECONDS = 6.0
_ADMIN_MILLISECONDS = 30_000


def run(
    props: Mapping[str, str], connector_files: Sequence[str], jvm: SparkJvm, ending: threading.Event, began: float
) -> int:
    """Run a worker with these connectors until ``ending`` is set; answers the exit code.

    Args:
        props: the worker's properties.
        connector_files: a file for each connector.
        jvm: the JVM for its Spark session, on its way up.
        ending: set when the worker should end.
        began: when the process began (``time.monotonic``), for the log.
    """
    try:
        process = WorkerProcess(props, jvm, began)
    except Exception as error:
        jvm.stop(0)
        _log_stop("Stopping due to error", error)
        return 2
    try:
        if not process.create_connectors(connector_files):
            return 3
        return process.run_until(ending)
    finally:
        process.stop()


class WorkerProcess:
    """All parts of a running worker, started in the order in which one can fail because of another.

    Args:
        props: the worker's properties.
        jvm: the JVM for its Spark session.
        began: when the process began, for the log.

    Raises:
        ConnectError: a property is wrong, a port is taken, the brokers do not answer, Spark does not start.
    """

    def __init__(self, props: Mapping[str, str], jvm: SparkJvm, began: float) -> None:
        folders = parse_value("plugin.path", props.get("plugin.path"), Type.LIST) or ()
        plugins = Plugins([folder for folder in folders if folder])
        config = StandaloneConfig.parse(props, plugins.find_class)
        self._rest = RestServer(
            config.listeners, Advertised(config.rest_advertised_host_name, config.rest_advertised_port)
        )
        self._rest.bind()
        try:
            self._start(config, plugins, jvm, began)
        except BaseException:
            self._rest.stop()
            raise

    def create_connectors(self, files: Sequence[str]) -> bool:
        """Create a connector from each file, in order; answers ``False`` at the first that fails, which is logged."""
        for file in files:
            try:
                request = read_connector_file(file)
                created = self._herder.put_connector(
                    request.name, request.config, request.initial_state, allow_replace=False
                )
            except Exception as error:
                log.error("Failed to create connector for %s", file)
                _log_stop("Stopping after connector error", error)
                return False
            log.info("Created connector %s", created.info.name)
        return True

    def run_until(self, ending: threading.Event) -> int:
        """Wait for the end; without its JVM the worker ends by itself, with exit code 2."""
        while not ending.wait(1.0):
            if not self._session.alive:
                log.error("The JVM of the Spark session has ended: this worker cannot go on without it")
                return 2
        return 0

    def stop(self) -> None:
        """Stop everything, first what takes new work."""
        log.info("Kafka Connect stopping")
        self._rest.stop(timeout=5)
        self._herder.stop()
        self._offsets.stop()
        self._session.stop()
        log.info("Kafka Connect stopped")

    def _start(self, config: StandaloneConfig, plugins: Plugins, jvm: SparkJvm, began: float) -> None:
        admin = _Admin(config)
        server = ServerInfo(VERSION, COMMIT, admin.cluster_id())
        self._offsets = FileOffsetStore(config.offset_storage_file_filename)
        self._offsets.start()
        self._session = Session(spark_settings(config.originals), jvm)
        self._session.warm_up()
        log.info("Kafka Connect worker initialization took %dms", (time.monotonic() - began) * 1000)
        worker = Worker(self._rest.worker_id, config, plugins, self._session, self._offsets)
        editor = OffsetEditor(plugins, self._offsets, admin.for_connector, admin.seconds)
        self._herder = StandaloneHerder(worker, Validator(plugins, config), editor, server)
        self._herder.start()
        self._rest.start(self._herder)
        log.info("Kafka Connect started")


class _Admin:
    """Settings of the admin clients of the worker and of its connectors."""

    def __init__(self, config: StandaloneConfig) -> None:
        self._config = config
        self._given = {**config.client_settings, **config.client_overrides("admin.")}

    @property
    def seconds(self) -> float:
        """How long the brokers may take to answer. Raises ConfigError for a value that is no number."""
        value = self._given.get("request.timeout.ms", str(_ADMIN_MILLISECONDS))
        return int(parse_value("admin.request.timeout.ms", value, Type.INT)) / 1000

    def cluster_id(self) -> str:
        """Id of the Kafka cluster. Raises ConnectError when it cannot be reached in time."""
        try:
            settings = self._settings("connect-worker-adminclient", {})
            client = clients.build(lambda config: AdminClient(config), settings, {"log_level": 0})
            cluster = client.list_topics(timeout=_CLUSTER_SECONDS)
        except KafkaException as error:
            raise ConnectError(
                "Failed to connect to and describe Kafka cluster at bootstrap.servers="
                f"{self._config.bootstrap_servers} within {_CLUSTER_SECONDS:.0f} s ({error.args[0].str()}). "
                "Check worker's broker connection and security properties."
            ) from error
        return str(cluster.cluster_id)

    def for_connector(self, connector: Mapping[str, str]) -> clients.Settings:
        """Settings for a connector, with its overrides."""
        overrides = clients.under_prefix(connector, "admin.override.")
        return self._settings(f"connector-worker-adminclient-{connector.get('name', '')}", overrides)

    def _settings(self, client_id: str, overrides: Mapping[str, str]) -> clients.Settings:
        return clients.admin_settings(self._config.bootstrap_servers, client_id, {**self._given, **overrides})


def _log_stop(what: str, error: Exception) -> None:
    # A stack says nothing to the user whose file is wrong; it does for an error that nobody foresaw.
    name = error.java_name if isinstance(error, ConnectError) else type(error).__name__
    text = f"{name}: {error}"
    separator = "\n" if "\n" in text else ": "
    log.error("%s%s%s", what, separator, text, exc_info=None if isinstance(error, ConnectError) else error)
