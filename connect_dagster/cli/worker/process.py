"""The parts that every worker process has, and the order in which they start and stop."""

from __future__ import annotations

import logging
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from connect_dagster.cli.worker_admin import WorkerAdmin
from connect_dagster.client.inter_worker import RestClient
from connect_dagster.errors import ConnectError
from connect_dagster.herder.interface import Herder, ServerInfo
from connect_dagster.isolation.config_transformer import ConfigTransformer
from connect_dagster.isolation.plugins import Plugins
from connect_dagster.plugin.config import Type, parse_value
from connect_dagster.rest.server import RestServer
from connect_dagster.worker.config.worker import WorkerConfig
from connect_dagster.worker.spark.jvm import SparkJvm
from connect_dagster.worker.spark.session import Session
from connect_dagster.worker.spark.settings import spark_settings

log = logging.getLogger(__name__)

# The Kafka Connect whose REST API this is.
VERSION, COMMIT = "4.3.1", "26b251a451ce941d"
Config = TypeVar("Config", bound=WorkerConfig)


@dataclass(frozen=True, slots=True)
class Parts(Generic[Config]):
    """What a herder is made of.

    Attributes:
        config: the worker's configuration.
        plugins: all plugins.
        transformer: for placeholders in configurations.
        session: the Spark session, warm.
        admin: settings of admin clients.
        worker_id: ``host:port``.
        url: where the worker takes requests.
        rest: for requests to other workers.
        server: what ``GET /`` answers.
    """

    config: Config
    plugins: Plugins
    transformer: ConfigTransformer
    session: Session
    admin: WorkerAdmin
    worker_id: str
    url: str
    rest: RestClient
    server: ServerInfo


class WorkerProcess(ABC, Generic[Config]):
    """All parts of a running worker, started in the order in which one can fail because of another.

    Args:
        config_class: reads the worker's properties.
        props: the worker's properties.
        jvm: the JVM for its Spark session.
        began: when the process began, for the log.

    Raises:
        ConnectError: a property is wrong, a port is taken, the brokers do not answer, Spark does not start.
    """

    def __init__(self, config_class: type[Config], props: Mapping[str, str], jvm: SparkJvm, began: float) -> None:
        folders = parse_value("plugin.path", props.get("plugin.path"), Type.LIST) or ()
        plugins = Plugins([folder for folder in folders if folder])
        self._transformer = ConfigTransformer.of(props, plugins)
        config = config_class.parse(self._transformer.transform(props).config, plugins.find_class)
        self._rest = RestServer.of(config)
        self._rest.bind()
        try:
            self._start(config, plugins, jvm, began)
        except BaseException:
            self._rest.stop()
            raise

    def run_until(self, ending: threading.Event) -> int:
        """Wait for the end; a worker that cannot go on ends by itself, with Java's exit codes."""
        while not ending.wait(1.0):
            if not self._session.alive:
                log.error("The JVM of the Spark session has ended: this worker cannot go on without it")
                return 2
            if (failure := self._failure()) is not None:
                log_stop("Uncaught exception in herder work thread, exiting", failure)
                return 1
        return 0

    def stop(self) -> None:
        """Stop everything, first what takes new work."""
        log.info("Kafka Connect stopping")
        self._rest.stop(timeout=5)
        self._stop_herder()
        self._transformer.close()
        self._session.stop()
        log.info("Kafka Connect stopped")

    @abstractmethod
    def _open_storage(self, config: Config) -> None:
        """Get at what must be there before Spark starts, which takes its time."""

    @abstractmethod
    def _start_herder(self, parts: Parts[Config]) -> Herder:
        """Make the herder and start it."""

    @abstractmethod
    def _stop_herder(self) -> None:
        """Stop the herder and what was made for it."""

    def _failure(self) -> Exception | None:
        """Why the herder cannot go on."""
        return None

    def _start(self, config: Config, plugins: Plugins, jvm: SparkJvm, began: float) -> None:
        admin = WorkerAdmin(config)
        server = ServerInfo(VERSION, COMMIT, admin.cluster_id())
        self._open_storage(config)
        self._session = Session(spark_settings(config.originals), jvm)
        self._session.warm_up()
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


def log_stop(what: str, error: Exception) -> None:
    """Tell why the worker ends; a stack says nothing to the user whose file is wrong, only where nobody foresaw it."""
    name = error.java_name if isinstance(error, ConnectError) else type(error).__name__
    text = f"{name}: {error}"
    separator = "\n" if "\n" in text else ": "
    log.error("%s%s%s", what, separator, text, exc_info=None if isinstance(error, ConnectError) else error)
