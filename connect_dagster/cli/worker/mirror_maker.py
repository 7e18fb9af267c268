"""Assemble and run MirrorMaker's dedicated process: a worker for each flow of its file (Java: ``MirrorMaker``).

The worker of a flow is a member of a group on the flow's target, and has no REST API for users: with
``dedicated.mode.enable.internal.rest`` one for the other processes. The leader of the group writes the configurations
of the three connectors where they differ from those of the file.
"""

from __future__ import annotations

import logging
import socket
import threading
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from connect_dagster.backoff import Backoff
from connect_dagster.cli.mirror.flow_file import FRAMEWORK_KEYS, flows_of_file
from connect_dagster.cli.worker.distributed import GroupStores, herder_of
from connect_dagster.cli.worker.process import Parts, WorkerAdmin, log_start_failure, log_stop
from connect_dagster.connectors.mirror.flow import Flow
from connect_dagster.connectors.mirror.flow_configs import FlowConfig, looping_flows, unused_properties
from connect_dagster.errors import BadRequestError, ConfigError, ConnectError
from connect_dagster.herder.distributed.config import DistributedConfig
from connect_dagster.herder.distributed.herder import DistributedHerder
from connect_dagster.herder.interface import NotLeaderError, ServerInfo
from connect_dagster.isolation.config_transformer import ConfigTransformer
from connect_dagster.isolation.plugins import Plugins
from connect_dagster.kafka_version import KAFKA_COMMIT, KAFKA_VERSION
from connect_dagster.rest.limits import LIMITS
from connect_dagster.rest.mirror_routes import mirror_app
from connect_dagster.rest.server import RestServer
from connect_dagster.rest.settings import RestSettings
from connect_dagster.worker.logs import output
from connect_dagster.worker.spark.session import Session
from connect_dagster.worker.spark.session_start import SessionStart

log = logging.getLogger(__name__)

_NO_URL = "NOTUSED"
_REST_SECONDS = 5
_RETRY_SECONDS = 2.0
_WRITE_SECONDS = Backoff(1.0, 60.0)
# No route of this process shows it.
_NO_CLUSTER_ID = ""


def run(
    props: Mapping[str, str], targets: Sequence[str], session: SessionStart, ending: threading.Event, began: float
) -> int:
    """Run the workers of all flows until ``ending`` is set; return the exit code.

    Args:
        props: of the file.
        targets: aliases of ``--clusters``; none for all.
        session: the starting Spark session, which the workers share.
        ending: ends the process when set.
        began: when the process began (``time.monotonic``), for the log.
    """
    try:
        process = MirrorProcess(props, targets, session)
    except Exception as error:
        session.stop()
        log_start_failure(error, "docs/mirror.md")
        return 2
    try:
        process.start()
        return process.run_until(ending)
    except Exception as error:
        log_stop("Stopping due to error", error)
        return 3
    finally:
        process.stop()


@dataclass(slots=True)
class FlowWorker:
    """The worker of one flow.

    Attributes:
        config: of the flow.
        admin: of the target.
        stores: of its group.
        herder: of the worker.
        ending: is set when the process ends.
    """

    config: FlowConfig
    admin: WorkerAdmin
    stores: GroupStores
    herder: DistributedHerder
    ending: threading.Event
    _writing: threading.Thread | None = field(default=None)
    _turns: threading.Lock = field(default_factory=threading.Lock)
    _failure: Exception | None = field(default=None)

    def start(self) -> None:
        """Join the group as soon as the target responds, unless the process ends before."""
        try:
            if wait_for_target(self.config.flow, self.admin.cluster_id, self.ending):
                self.herder.start()
        except Exception as error:
            self._failure = error

    @property
    def failure(self) -> Exception | None:
        """Return the error that has ended the worker."""
        return self._failure or self.herder.failure

    def write_connectors(self) -> None:
        """Write the configurations that the group lacks, on a thread: the herder's would wait for itself."""
        self._writing = threading.Thread(target=self._write_all, name=f"configure-{self.config.flow}", daemon=True)
        self._writing.start()

    def _write_all(self) -> None:
        with self._turns:  # leadership may be back before a thread has seen that it was lost
            log.info("This process is now a leader for %s. Configuring connectors...", self.config.flow)
            for name, wanted in self.config.connectors.items():
                if not self._configure(name, wanted):
                    return

    def _configure(self, name: str, wanted: Mapping[str, str]) -> bool:
        """Write a configuration, as often as it takes; return whether this process still leads."""
        flow, failures = self.config.flow, 0
        while True:
            try:
                self._write(name, wanted)
                return True
            except NotLeaderError:
                log.info("This process lost leadership for %s while it configured %s.", flow, name)
                return False
            except BadRequestError as error:
                log.error("Failed to configure %s connector for %s: %s", name, flow, error)
                return True
            except Exception as error:
                # Leadership comes once: Java's process leaves the connector as it is until another one leads.
                failures += 1
                if not self.ending.is_set():
                    log.error("Failed to configure %s connector for %s, will retry: %s", name, flow, error)
            if self.ending.wait(_WRITE_SECONDS.delay(failures)):
                return False

    def _write(self, name: str, wanted: Mapping[str, str]) -> None:
        known = self.herder.known_connector_info(name).config if name in self.herder.connectors() else None
        if known == dict(wanted):
            log.info("The configuration of %s for %s is already up to date.", name, self.config.flow)
            return
        self.herder.put_connector(name, dict(wanted), allow_replace=True)
        log.info("%s connector configured for %s.", name, self.config.flow)


class MirrorProcess:
    """All workers of the process.

    Args:
        props: of the file.
        targets: aliases of ``--clusters``; none for all.
        session: the starting Spark session.

    Raises:
        ConnectError: a property is wrong, or Spark does not start.
    """

    def __init__(self, props: Mapping[str, str], targets: Collection[str], session: SessionStart) -> None:
        log.info("Kafka MirrorMaker initializing ...")
        plugins = Plugins.of(props)
        self._transformer = ConfigTransformer.of(props, plugins)
        output.hide(self._transformer.hidden)
        config, flows = flows_of_file(props, targets, self._transformer)
        for one in flows:
            one.check(plugins.find_class)
        for name in unused_properties(config, FRAMEWORK_KEYS):
            log.warning("The property %s has no effect: it belongs to no cluster, flow or connector.", name)
        for flow in looping_flows(config):
            log.warning(
                "%s and %s both keep the names of topics: each record would go back and forth without end. Name "
                "different topics for the two flows, or use DefaultReplicationPolicy.",
                flow,
                flow.back,
            )
        parsed = [DistributedConfig.parse(one.worker, plugins.find_class) for one in flows]
        self._rest = None
        if config.internal_rest:
            self._rest = _bound_rest(DistributedConfig.parse(config.with_rest(flows[0].worker), plugins.find_class))
        self._session: Session = session.session(props)
        self._ending = threading.Event()
        self._workers = [self._worker(flow, config, plugins) for flow, config in zip(flows, parsed, strict=True)]
        self._starting = [
            threading.Thread(target=one.start, name=f"start-{one.config.flow}", daemon=True) for one in self._workers
        ]

    def start(self) -> None:
        """Join each group once its cluster responds. Raises ConnectError: the internal REST API did not come up."""
        for thread in self._starting:
            thread.start()
        if self._rest is not None:
            herders = {one.config.flow: one.herder for one in self._workers}
            self._rest.serve(mirror_app(herders, self._rest.client, LIMITS))
        log.info("Kafka MirrorMaker started with flows %s", ", ".join(str(one.config.flow) for one in self._workers))

    def run_until(self, ending: threading.Event) -> int:
        """Wait for the end, and return the exit code; a process that cannot continue ends by itself."""
        while not ending.wait(1.0):
            if not self._session.alive:
                log.error("The JVM of the Spark session has ended: this process cannot go on without it")
                return 2
            for worker in self._workers:
                if (failure := worker.failure) is not None:
                    log_stop(f"The worker of {worker.config.flow} cannot go on", failure)
                    return 1
        return 0

    def stop(self) -> None:
        """Leave all groups, and stop Spark."""
        log.info("Kafka MirrorMaker stopping")
        self._ending.set()
        if self._rest is not None:
            self._rest.stop(_REST_SECONDS)
        for thread in self._starting:
            if thread.is_alive():
                thread.join()
        threads = [threading.Thread(target=self._stop_worker, args=(one,)) for one in self._workers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self._transformer.close()
        self._session.stop()
        log.info("Kafka MirrorMaker stopped.")

    def _stop_worker(self, worker: FlowWorker) -> None:
        worker.stores.admin.stop()
        worker.herder.stop()

    def _worker(self, flow: FlowConfig, config: DistributedConfig, plugins: Plugins) -> FlowWorker:
        stores, admin = GroupStores.of(config), WorkerAdmin(config)
        parts = Parts(
            config,
            plugins,
            self._transformer,
            self._session,
            admin,
            _worker_id(flow.flow, self._rest),
            _NO_URL if self._rest is None else self._rest.advertised_url,
            None if self._rest is None else self._rest.client,
            ServerInfo(KAFKA_VERSION, KAFKA_COMMIT, _NO_CLUSTER_ID),
        )
        made: list[FlowWorker] = []
        herder = herder_of(parts, stores, lambda: made[0].write_connectors(), f"{flow.flow.rest_namespace}/")
        made.append(FlowWorker(flow, admin, stores, herder, self._ending))
        return made[0]


def wait_for_target(flow: Flow, ask: Callable[[], object], ending: threading.Event) -> bool:
    """Wait until the target of a flow responds; return ``False`` when the process ends before.

    A flow that only emits heartbeats has as its target the cluster that another replicates: while that is away, the
    others go on. Java's process does not start then.

    Args:
        flow: the flow.
        ask: asks the brokers; raises ConnectError when they do not respond.
        ending: of the process.

    Raises:
        ConfigError: a setting of the client is wrong.
    """
    warned = False
    while not ending.is_set():
        try:
            ask()
        except ConfigError:
            raise
        except ConnectError as error:
            if not warned:
                log.warning("The flow %s waits for its target: %s", flow, error)
            warned = True
            ending.wait(_RETRY_SECONDS)
        else:
            if warned:
                log.info("The target of the flow %s responds.", flow)
            return True
    return False


def _bound_rest(config: DistributedConfig) -> RestServer:
    rest = RestServer(RestSettings.internal(config))
    rest.bind()
    return rest


def _worker_id(flow: Flow, rest: RestServer | None) -> str:
    return f"{socket.getfqdn()}/{flow}/{uuid.uuid4()}" if rest is None else f"{rest.worker_id}/{flow}"
