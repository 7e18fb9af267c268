"""The parts that every worker process has, started in the order in which one can fail because of another.

Ports first, then the brokers, then storage, Spark, herder; requests are served last. Standalone and distributed
workers add their storage and their herder.
"""

from __future__ import annotations

import logging
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from confluent_kafka import KafkaError, KafkaException

from connect_dagster.client.inter_worker import RestClient
from connect_dagster.errors import ConfigError, ConnectError
from connect_dagster.herder.interface import Herder, ServerInfo
from connect_dagster.isolation.config_transformer import ConfigTransformer
from connect_dagster.isolation.plugins import Plugins
from connect_dagster.kafka import clients
from connect_dagster.kafka.settings.java_settings import Settings
from connect_dagster.kafka_version import KAFKA_COMMIT, KAFKA_VERSION
from connect_dagster.plugin.config import Type, parse_value, under_prefix
from connect_dagster.rest.server import RestServer
from connect_dagster.worker.config.worker import WorkerConfig
from connect_dagster.worker.logs import output
from connect_dagster.worker.spark.session import Session
from connect_dagster.worker.spark.session_start import SessionStart

log = logging.getLogger(__name__)

# The Kafka Connect whose REST API this is.
Config = TypeVar("Config", bound=WorkerConfig)

WORKER_OPTIONS = "docs/reference/worker_options.md"
_CLUSTER_SECONDS = 6.0
_ADMIN_MILLISECONDS = 30_000


class WorkerAdmin:
    """Settings of the admin clients of a worker and of its connectors."""

    def __init__(self, config: WorkerConfig) -> None:
        self._config = config
        self._given = {**config.client_settings, **config.client_overrides("admin.")}

    @property
    def seconds(self) -> float:
        """Return the longest wait for the brokers, in seconds. Raises ConfigError for a value that is not a number."""
        value = self._given.get("request.timeout.ms", str(_ADMIN_MILLISECONDS))
        return int(parse_value("admin.request.timeout.ms", value, Type.INT)) / 1000

    def cluster_id(self) -> str:
        """Return the id of the Kafka cluster. Raises ConnectError when it cannot be reached in time."""
        causes: list[KafkaError] = []
        try:
            settings = self._settings("connect-worker-adminclient", {})
            client = clients.admin(settings, {"log_level": 0, "error_cb": causes.append})
            try:
                return str(client.list_topics(timeout=_CLUSTER_SECONDS).cluster_id)
            finally:
                client.poll(0)
        except KafkaException as error:
            # The error of the request is the same for brokers that are away and for a login that they refuse.
            told = [cause for cause in causes if cause.code() in (KafkaError._AUTHENTICATION, KafkaError._SSL)]
            raise ConnectError(
                "Failed to connect to and describe Kafka cluster at bootstrap.servers="
                f"{self._config.bootstrap_servers} within {_CLUSTER_SECONDS:.0f} s "
                f"({[error.args[0], *told][-1].str()}). "
                "Check worker's broker connection and security properties."
            ) from error

    def for_connector(self, connector: Mapping[str, str]) -> Settings:
        """Return the settings for a connector, with its overrides."""
        overrides = under_prefix(connector, "admin.override.")
        return self._settings(f"connector-worker-adminclient-{connector.get('name', '')}", overrides)

    def _settings(self, client_id: str, overrides: Mapping[str, str]) -> Settings:
        return clients.admin_settings(self._config.bootstrap_servers, client_id, {**self._given, **overrides})


@dataclass(frozen=True, slots=True)
class Parts(Generic[Config]):
    """Parts that a herder needs.

    Attributes:
        config: the worker's configuration.
        plugins: all plugins.
        transformer: for placeholders in configurations.
        session: the Spark session.
        admin: settings of admin clients.
        worker_id: ``host:port``.
        url: where the worker takes requests.
        rest: sends requests to other workers; ``None`` for a worker without REST API.
        server: the reply to ``GET /``.
    """

    config: Config
    plugins: Plugins
    transformer: ConfigTransformer
    session: Session
    admin: WorkerAdmin
    worker_id: str
    url: str
    rest: RestClient | None
    server: ServerInfo


class WorkerProcess(ABC, Generic[Config]):
    """All parts of a running worker.

    Args:
        config_class: reads the worker's properties.
        props: the worker's properties.
        session: the starting Spark session.
        began: when the process began, for the log.

    Raises:
        ConnectError: a property is wrong, a port is taken, the brokers do not respond, Spark does not start.
    """

    def __init__(
        self, config_class: type[Config], props: Mapping[str, str], session: SessionStart, began: float
    ) -> None:
        plugins = Plugins.of(props)
        self._transformer = ConfigTransformer.of(props, plugins)
        output.hide(self._transformer.hidden)
        config = config_class.parse(self._transformer.transform(props).config, plugins.find_class)
        self._rest = RestServer.of(config, plugins)
        self._rest.bind()
        try:
            self._start(config, plugins, session, began)
        except BaseException:
            self._rest.stop()
            raise

    def warm_up(self) -> None:
        """Run Spark's first batch, which would take a first task as long: for a worker that has no task yet."""
        try:
            self._session.warm_up()
        except Exception:
            if self._session.alive:
                log.warning("Spark has failed on its first batch, tasks may do so as well", exc_info=True)

    def run_until(self, ending: threading.Event) -> int:
        """Wait for the end, and return Java's exit code; a worker that cannot continue ends by itself."""
        while not ending.wait(1.0):
            if not self._session.alive:
                log.error("The JVM of the Spark session has ended: this worker cannot go on without it")
                return 2
            if (failure := self._failure()) is not None:
                log_stop("Uncaught exception in herder work thread, exiting", failure)
                return 1
        return 0

    def stop(self) -> None:
        """Stop all parts, the REST server first."""
        log.info("Kafka Connect stopping")
        self._rest.stop(timeout=5)
        self._stop_herder()
        self._transformer.close()
        self._session.stop()
        log.info("Kafka Connect stopped")

    @abstractmethod
    def _open_storage(self, config: Config) -> None:
        """Open the stores. Called before Spark starts, which takes seconds."""

    @abstractmethod
    def _start_herder(self, parts: Parts[Config]) -> Herder:
        """Create the herder and start it."""

    @abstractmethod
    def _stop_herder(self) -> None:
        """Stop the herder and its stores."""

    def _failure(self) -> Exception | None:
        """Return the error that ended the herder, if there is one."""
        return None

    def _start(self, config: Config, plugins: Plugins, session: SessionStart, began: float) -> None:
        admin = WorkerAdmin(config)
        server = ServerInfo(KAFKA_VERSION, KAFKA_COMMIT, admin.cluster_id())
        self._open_storage(config)
        self._session = session.session(config.originals)
        log.info("Kafka Connect worker initialization took %dms", (time.monotonic() - began) * 1000)
        herder = self._start_herder(
            Parts(
                config,
                plugins,
                self._transformer,
                self._session,
                admin,
                self._rest.worker_id,
                self._rest.advertised_url,
                self._rest.client,
                server,
            )
        )
        self._rest.start(herder)
        log.info("Kafka Connect started")


def log_start_failure(error: Exception, page: str = WORKER_OPTIONS) -> None:
    """Log why the worker does not start, and for a wrong option the page that explains it.

    Args:
        error: that ended the start.
        page: of the options.
    """
    log_stop("Stopping due to error", error)
    if isinstance(error, ConfigError):
        log_pages([page])


def log_pages(pages: Sequence[str]) -> None:
    """Log the pages that explain the options which an error is about."""
    log.error("The options are explained in %s", ", ".join(pages))


def log_stop(what: str, error: Exception) -> None:
    """Log why the worker ends; with a stack only for unexpected errors."""
    name = error.java_name if isinstance(error, ConnectError) else type(error).__name__
    text = f"{name}: {error}"
    separator = "\n" if "\n" in text else ": "
    log.error("%s%s%s", what, separator, text, exc_info=None if isinstance(error, ConnectError) else error)
