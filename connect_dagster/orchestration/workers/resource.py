"""Workers as Dagster resources: their properties, their start, and their group on the brokers."""

import hashlib
import json
import sys
import time
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, ClassVar
from urllib.parse import urlsplit

import dagster as dg
from dagster import MetadataValue
from pydantic import Field

from connect_dagster.client.interrupts import uninterrupted
from connect_dagster.client.masking import mask_text
from connect_dagster.errors import ConfigError
from connect_dagster.kafka.access import Brokers
from connect_dagster.kafka.errors import BrokersError, UnansweredError
from connect_dagster.orchestration.secret_fields import SECRET, ResourceWithSecrets
from connect_dagster.orchestration.workers import group_topics, property_file
from connect_dagster.orchestration.workers.group import MemberDescription, WorkerGroup, read_worker_group
from connect_dagster.orchestration.workers.group_topics import StoredConfigs, StoredOffset, StoredStatus
from connect_dagster.orchestration.workers.metadata import ProcessReport, WorkerReport
from connect_dagster.orchestration.workers.process import WorkerProcess
from connect_dagster.orchestration.workspace import KafkaConnectWorkspace
from connect_dagster.scratch import scratch_folder

ANSWER_TIMEOUT = 2.0
ANY_ANSWER_TIMEOUT = 5.0
FAILED_START_GRACE = 10.0


class TakenPlaceError(dg.Failure):
    """Something else is where a process was to start."""


class HostedProcess(ResourceWithSecrets):
    """Properties and start of a process that a run hosts: a worker, or MirrorMaker's dedicated process.

    Later properties replace earlier ones, in this order: the file, ``spark``, ``properties``, the fields.
    """

    property_of_field: ClassVar[dict[str, str]] = {}
    without_a_file: ClassVar[Mapping[str, str]] = {}
    announcement: ClassVar[str | None] = None

    worker_properties: str | None = Field(default=None, description="Worker configuration file, as Kafka's.")
    properties: dict[str, str] = Field(
        default={}, description="Further worker properties, by their Java names.", json_schema_extra=SECRET
    )
    # Of any type, so that loading definitions does not load PySpark.
    spark: dg.ResourceDependency[Any] = Field(
        default=None,  # type: ignore[arg-type]
        description="dagster-pyspark's LazyPySparkResource: its spark_config is that of the worker's own session.",
    )
    command: list[str] = Field(description="The program; the property file and :attr:`arguments` follow.")

    @property
    def arguments(self) -> list[str]:
        """Arguments after the property file on the command line."""
        return []

    @property
    @abstractmethod
    def duty(self) -> str:
        """Return what it does once it has started, as a predicate for a message."""

    @property
    def effective_properties(self) -> dict[str, str]:
        """Return the effective properties of the worker.

        Raises:
            Failure: The file cannot be read.
        """
        try:
            return property_file.effective(self.worker_properties, self._additions(), self.without_a_file)
        except ConfigError as error:
            raise dg.Failure(str(error)) from error

    @property
    def generation(self) -> str:
        """Return a short hash of command, arguments and properties: a worker started with another one is out of date.

        Raises:
            Failure: The file cannot be read.
        """
        content = json.dumps([self.command, self.arguments, self.effective_properties], sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()[:8]

    def is_alive(self) -> bool | None:
        """Return whether it responds; None when it has no REST API, so that only its run knows."""
        return None

    def responds(self) -> bool:
        """Return False if it has a REST API and sends nothing, not even an error."""
        return True

    def start(self, timeout: float = 120.0) -> WorkerProcess:
        """Start the process and wait until it has started; a worker of a group has joined it by then.

        Args:
            timeout: Bound for the wait, in seconds.

        Raises:
            Failure: Another worker responds at its address, the property file cannot be read, or the process ended or
                did not start in time.
        """
        self._require_vacancy()
        known = self.effective_properties
        with scratch_folder() as scratch:
            file = property_file.write_effective(
                self.worker_properties, self._additions(), scratch, self.without_a_file
            )
            mask = partial(mask_text, configs=[known])
            worker = WorkerProcess.spawn([*self.command, str(file), *self.arguments], mask, self.announcement)
            try:
                self._await_start(worker, timeout)
            except BaseException:
                with uninterrupted():
                    worker.stop(FAILED_START_GRACE)
                raise
        return worker

    def report(self) -> ProcessReport:
        """Return what makes the metadata of its process."""
        return ProcessReport()

    def _require_vacancy(self) -> None:
        """Raise TakenPlaceError when another process is in its place."""

    @abstractmethod
    def _await_start(self, worker: WorkerProcess, timeout: float) -> None:
        """Wait for ``timeout`` seconds at most until the process has started. Raises Failure."""

    def _additions(self) -> dict[str, str]:
        fields = {name: getattr(self, field) for field, name in self.property_of_field.items()}
        given = {name: value for name, value in fields.items() if value is not None}
        spark = property_file.spark_properties(self.spark.spark_config) if self.spark else {}
        resolved = {name: _from_environment(value) for name, value in {**spark, **self.properties, **given}.items()}
        return {name: value for name, value in resolved.items() if value is not None}


class HostedWorker(HostedProcess):
    """Properties and start of a worker, standalone or of a group."""

    property_of_field: ClassVar[dict[str, str]] = {"bootstrap_servers": "bootstrap.servers", "listener": "listeners"}
    without_a_file: ClassVar[Mapping[str, str]] = property_file.JSON_CONVERTERS

    workspace: KafkaConnectWorkspace = Field(description="Access to the worker's REST API.")
    bootstrap_servers: str | None = Field(default=None, description="Kafka brokers: bootstrap.servers.")
    listener: str | None = Field(default=None, description="Where its REST API listens: listeners.")

    @property
    def duty(self) -> str:
        return f"responds at {mask_text(self.workspace.url)}"

    @property
    def rest_worker_id(self) -> str:
        """Return the ``worker_id`` in statuses of its connectors and tasks: its advertised ``host:port``."""
        known = self.effective_properties
        listener = urlsplit(known.get("listeners", "").split(",")[0])
        asked = urlsplit(self.workspace.url)
        host = known.get("rest.advertised.host.name") or listener.hostname or asked.hostname
        return f"{host}:{known.get('rest.advertised.port') or listener.port or asked.port}"

    def is_alive(self) -> bool:
        """Return True if a worker responds at the address within two seconds."""
        return self.workspace.get_client(timeout=ANSWER_TIMEOUT).is_alive()

    def responds(self) -> bool:
        """Return True if anything responds at the address within five seconds, also with an error."""
        return self.workspace.get_client(timeout=ANY_ANSWER_TIMEOUT).responds()

    def report(self) -> ProcessReport:
        return WorkerReport(self.workspace.get_client(), self.rest_worker_id)

    def _require_vacancy(self) -> None:
        if self.is_alive():
            where = mask_text(self.workspace.url)
            raise TakenPlaceError(f"Another worker responds at {where} already; stop it or choose another listener.")

    def _await_start(self, worker: WorkerProcess, timeout: float) -> None:
        deadline = time.monotonic() + timeout
        while not self.is_alive():
            if worker.wait(0.2):
                raise worker_failure(worker, "The worker ended before its REST API responded")
            if time.monotonic() > deadline:
                raise worker_failure(worker, f"The worker's REST API did not respond within {timeout:g} s")


class StandaloneConnectWorkerResource(HostedWorker):
    """A standalone Connect worker that Dagster starts as a child process.

    Examples:
        .. code-block:: python

            from connect_dagster.orchestration import KafkaConnectWorkspace, StandaloneConnectWorkerResource

            worker = StandaloneConnectWorkerResource(
                workspace=KafkaConnectWorkspace(url="http://127.0.0.1:8083"),
                worker_properties="config/connect-standalone.properties",
                connector_files=["config/local-file-source.properties"],
            )
    """

    connector_files: list[str] = Field(default=[], description="Connectors the worker starts with: properties or JSON.")
    command: list[str] = Field(
        default=[sys.executable, "-m", "connect_dagster.cli.worker", "standalone"],
        description="The program, with the files as arguments; Java's connect-standalone.sh also works.",
    )

    @property
    def arguments(self) -> list[str]:
        return self.connector_files


class ConnectWorkerResource(HostedWorker):
    """A Connect worker that Dagster starts as a child process and that joins a group of workers.

    The group and its topics are read from the brokers, so no worker has to run.

    Examples:
        .. code-block:: python

            from dagster_pyspark import LazyPySparkResource

            from connect_dagster.orchestration import ConnectWorkerResource, KafkaConnectWorkspace

            worker = ConnectWorkerResource(
                workspace=KafkaConnectWorkspace(url="http://127.0.0.1:8083"),
                bootstrap_servers="127.0.0.1:9092",
                listener="http://127.0.0.1:8083",
                group_id="connect",
                config_storage_topic="connect-configs",
                offset_storage_topic="connect-offsets",
                status_storage_topic="connect-status",
                spark=LazyPySparkResource(spark_config={"spark.driver.memory": "2g"}),
            )
    """

    property_of_field: ClassVar[dict[str, str]] = {
        **HostedWorker.property_of_field,
        "group_id": "group.id",
        "config_storage_topic": "config.storage.topic",
        "offset_storage_topic": "offset.storage.topic",
        "status_storage_topic": "status.storage.topic",
    }

    group_id: str | None = Field(default=None, description="The group it joins: group.id.")
    config_storage_topic: str | None = Field(default=None, description="Topic of configurations: config.storage.topic.")
    offset_storage_topic: str | None = Field(default=None, description="Topic of offsets: offset.storage.topic.")
    status_storage_topic: str | None = Field(default=None, description="Topic of statuses: status.storage.topic.")
    request_timeout: float = Field(default=10.0, gt=0, description="Bound for each request to the brokers, in seconds.")
    command: list[str] = Field(
        default=[sys.executable, "-m", "connect_dagster.cli.worker", "distributed"],
        description="What is run, with the file as argument; Java's connect-distributed.sh works too.",
    )

    def group(self) -> WorkerGroup:
        """Return the group as its coordinator describes it.

        Raises:
            Failure: No broker responds, or the group does not exist.
        """
        with _sentences(self.brokers) as servers:
            return read_worker_group(servers, self.named("group.id"), self.request_timeout)

    def members(self) -> tuple[MemberDescription, ...]:
        """Return the workers of the group; as :meth:`group`."""
        return self.group().members

    def configs(self) -> StoredConfigs:
        """Return the connectors in the config topic, read to its end.

        Raises:
            Failure: No broker responds, or the topic does not exist.
        """
        with _sentences(self.brokers) as servers:
            return group_topics.read_configs(servers, self.named("config.storage.topic"), self.request_timeout)

    def offsets(self) -> tuple[StoredOffset, ...]:
        """Return offsets of source connectors in the offset topic, read to its end; as :meth:`configs`."""
        with _sentences(self.brokers) as servers:
            return group_topics.read_offsets(servers, self.named("offset.storage.topic"), self.request_timeout)

    def statuses(self) -> tuple[StoredStatus, ...]:
        """Return the states of connectors and tasks in the status topic, read to its end; as :meth:`configs`."""
        with _sentences(self.brokers) as servers:
            return group_topics.read_statuses(servers, self.named("status.storage.topic"), self.request_timeout)

    @property
    def brokers(self) -> Brokers:
        """Return the brokers of the worker, with its security properties. Raises Failure as :meth:`named`."""
        return Brokers(self.named("bootstrap.servers"), security_of(self.effective_properties))

    def named(self, name: str) -> str:
        """Return an effective property of the worker.

        Args:
            name: Its Java name, such as ``group.id``.

        Raises:
            Failure: The property is not set, or the file cannot be read; names the field to set.
        """
        if value := self.effective_properties.get(name):
            return value
        fields = {key: field for field, key in self.property_of_field.items()}
        raise dg.Failure(f"The worker has no {name}: give {fields[name]}, or a worker_properties file that names it.")


_SECURITY = ("security.", "sasl.", "ssl.")


def security_of(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the properties of a login or of certificates among those of a worker."""
    return {name: value for name, value in properties.items() if name.startswith(_SECURITY)}


@contextmanager
def _sentences(brokers: Brokers) -> Iterator[Brokers]:
    """Convert errors of the brokers to a Failure with one sentence."""
    try:
        yield brokers
    except UnansweredError as error:
        raise dg.Failure(f"No broker responds at {brokers}: {error}", allow_retries=True) from error
    except BrokersError as error:
        raise dg.Failure(f"Kafka at {brokers}: {error}") from error


def _from_environment(value: str | None) -> str | None:
    """Return the value; the variable's value where Dagster has not resolved it yet."""
    return value.get_value() if isinstance(value, dg.EnvVar) else value


def worker_failure(worker: WorkerProcess, what: str) -> dg.Failure:
    """Return the failure of a run, with the worker's exit and last lines."""
    return dg.Failure(
        f"{what}: {worker.exit_description()}",
        metadata={
            "pid": MetadataValue.int(worker.pid),
            "exit": MetadataValue.text(worker.exit_description()),
            "last_lines": MetadataValue.md(f"```\n{worker.last_lines()}\n```"),
        },
    )
