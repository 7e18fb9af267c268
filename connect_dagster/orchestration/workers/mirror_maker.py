"""MirrorMaker's dedicated process as a Dagster resource, hosted by runs as workers are.

It has no REST API. That it lives is known from its process; the states of its connectors and tasks are read from the
status topic of each flow, on the flow's target.
"""

import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import dagster as dg
from dagster import MetadataValue, TableColumn, TableRecord, TableSchema
from pydantic import Field

from connect_dagster.client.masking import mask_text
from connect_dagster.errors import ConnectError
from connect_dagster.kafka.access import Brokers
from connect_dagster.kafka.errors import BrokersError
from connect_dagster.orchestration.workers.group_topics import StoredStatus, read_statuses
from connect_dagster.orchestration.workers.metadata import ProcessReport
from connect_dagster.orchestration.workers.process import WorkerProcess
from connect_dagster.orchestration.workers.resource import HostedProcess, security_of, worker_failure
from connect_dagster.protocol.states import State

if TYPE_CHECKING:
    from connect_dagster.connectors.mirror.flow_configs import FlowConfig
    from connect_dagster.connectors.mirror.flow_settings import Resolve


_STARTING_SECONDS = 60.0
_NONE: Mapping[str, str] = {}
_NOTHING: Mapping[str, tuple[str, ...]] = {}


@dataclass(frozen=True, slots=True)
class FlowState:
    """The topic with the states of one flow's connectors and tasks.

    Attributes:
        flow: The pair of clusters, such as ``eu->us``.
        brokers: Of the flow's target.
        topic: Its name there.
        connectors: The names of the flow's connectors.
    """

    flow: str
    brokers: Brokers
    topic: str
    connectors: tuple[str, ...]

    @classmethod
    def of(cls, config: "FlowConfig") -> "FlowState":
        """Return the topic of a flow by its worker's settings."""
        worker = config.worker
        brokers = Brokers(worker["bootstrap.servers"], security_of(worker))
        return cls(str(config.flow), brokers, worker["status.storage.topic"], tuple(config.connectors))


@dataclass(frozen=True, slots=True)
class FlowsReport(ProcessReport):
    """Metadata of a dedicated process, with the states of its flows.

    Attributes:
        flows: Where the states are.
        timeout: Longest time without a response of the brokers of a flow, in seconds.
        properties: Of the process; what is secret in them is cut out of texts.
    """

    flows: tuple[FlowState, ...]
    timeout: float
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)

    def running(self, process: WorkerProcess) -> dict[str, Any]:
        states: dict[str, tuple[StoredStatus, ...] | str] = {}
        for flow in self.flows:
            try:
                states[flow.flow] = read_statuses(flow.brokers, flow.topic, self.timeout)
            except BrokersError as error:
                states[flow.flow] = str(error)
        # Until then the group may still form.
        wanted = {flow.flow: flow.connectors for flow in self.flows} if process.uptime > _STARTING_SECONDS else {}
        return {**ProcessReport.running(self, process), **flows_metadata(states, self.properties, wanted)}


class MirrorMakerResource(HostedProcess):
    """MirrorMaker's dedicated process, ``connect-mirror-maker``, which Dagster starts as a child process.

    Its file and ``properties`` are those of ``mm2.properties``. The process has no address: several of one file share
    their flows only with ``dedicated.mode.enable.internal.rest=true``.

    Examples:
        .. code-block:: python

            from connect_dagster import MirrorMakerResource, build_connect_worker_definitions

            mirror = MirrorMakerResource(
                properties={
                    "clusters": "eu, us",
                    "eu.bootstrap.servers": "127.0.0.1:9092",
                    "us.bootstrap.servers": "127.0.0.1:9192",
                    "eu->us.enabled": "true",
                    "eu->us.topics": "orders",
                }
            )
            defs = build_connect_worker_definitions(workers={"mirror": mirror}, job_name="mirror_maker")
    """

    announcement: ClassVar[str | None] = "Kafka MirrorMaker started"

    clusters: list[str] = Field(
        default=[], description="Aliases of the targets whose flows it runs, as --clusters; all by default."
    )
    request_timeout: float = Field(default=10.0, gt=0, description="Bound for each request to the brokers, in seconds.")
    command: list[str] = Field(
        default=[sys.executable, "-m", "connect_dagster.cli.worker", "mirror-maker"],
        description="The program, with the file as argument; Java's connect-mirror-maker.sh works too.",
    )

    @property
    def arguments(self) -> list[str]:
        return ["--clusters", *self.clusters] if self.clusters else []

    @property
    def duty(self) -> str:
        return f"runs the flows {', '.join(flow.flow for flow in self.flows())}"

    def flows(self) -> tuple[FlowState, ...]:
        """Return where the states of its flows are.

        Raises:
            Failure: The file cannot be read, a property is wrong, or a config provider fails.
        """
        # Most definitions have no flow, and load no connector's code.
        from connect_dagster.connectors.mirror.flow_configs import read_flows

        known = self.effective_properties
        try:
            with _replacing(known) as replaced:
                _, found = read_flows(known, self.clusters, (), replaced)
        except ConnectError as error:
            raise dg.Failure(str(error)) from error
        return tuple(FlowState.of(one) for one in found)

    def report(self) -> ProcessReport:
        return FlowsReport(self.flows(), self.request_timeout, self.effective_properties)

    def _await_start(self, worker: WorkerProcess, timeout: float) -> None:
        deadline = time.monotonic() + timeout
        while not worker.has_announced:
            if worker.wait(0.2):
                raise worker_failure(worker, "MirrorMaker ended before it had started")
            if time.monotonic() > deadline:
                raise worker_failure(worker, f"MirrorMaker did not start within {timeout:g} s")


@contextmanager
def _replacing(properties: Mapping[str, str]) -> "Iterator[Resolve]":
    """Yield a function that replaces the placeholders of config providers.

    It leaves them where a provider is a class of Java, which only Java's process can load.
    """
    if not properties.get("config.providers"):
        yield lambda given: given
        return
    from connect_dagster.isolation.config_transformer import ConfigTransformer
    from connect_dagster.isolation.plugins import Plugins

    try:
        transformer = ConfigTransformer.of(properties, Plugins.of(properties))
    except ConnectError:
        yield lambda given: given
        return
    with closing(transformer):
        yield lambda given: transformer.transform(given).config


def flows_metadata(
    states: Mapping[str, Iterable[StoredStatus] | str],
    properties: Mapping[str, str] = _NONE,
    wanted: Mapping[str, Iterable[str]] = _NOTHING,
) -> dict[str, Any]:
    """Return the metadata of flows: numbers of connectors and tasks, a table, and why the first one of them FAILED.

    Args:
        states: States of connectors and tasks by flow, or the reason why they are not known.
        properties: Of the process; what is secret in them is cut out of texts.
        wanted: Names of the connectors of each flow.
    """
    known = {flow: list(found) for flow, found in states.items() if not isinstance(found, str)}
    every = [status for found in known.values() for status in found]
    tasks = [status for status in every if status.task is not None]
    rows = [TableRecord({"flow": flow, **_counts(found)}) for flow, found in known.items()]
    columns = [TableColumn("flow"), *(TableColumn(name, "int") for name in _counts(()))]
    metadata: dict[str, Any] = {
        "flow_count": len(states),
        "connector_count": len(every) - len(tasks),
        "connectors_failed": sum(status.state is State.FAILED and status.task is None for status in every),
        "task_count": len(tasks),
        "tasks_failed": sum(status.state is State.FAILED for status in tasks),
        "flows": MetadataValue.table(rows, schema=TableSchema(columns)),
    }
    if failed := next(_failed(known), None):
        metadata["error"] = mask_text(failed, [properties])
    if missing := [f"{flow} {name}" for flow, found in known.items() for name in _missing(found, wanted.get(flow, ()))]:
        metadata["connectors_missing"] = ", ".join(missing)
    if errors := {flow: found for flow, found in states.items() if isinstance(found, str)}:
        metadata["flows_error"] = "; ".join(f"{flow}: {error}" for flow, error in errors.items())
    return metadata


def _failed(states: Mapping[str, Iterable[StoredStatus]]) -> Iterator[str]:
    """Yield the connectors and tasks that FAILED, each with the first line of its trace."""
    for flow, found in states.items():
        for status in found:
            if status.state is State.FAILED:
                name = status.connector if status.task is None else f"{status.connector}-{status.task}"
                yield f"{flow} {name}: {(status.trace or 'no trace').strip().partition(chr(10))[0]}"


def _missing(states: Iterable[StoredStatus], wanted: Iterable[str]) -> list[str]:
    """Return the connectors that have no state."""
    known = {status.connector for status in states}
    return [name for name in wanted if name not in known]


def _counts(statuses: Iterable[StoredStatus]) -> dict[str, int]:
    """Return the numbers of a flow's row in the table."""
    found = list(statuses)
    tasks = [status for status in found if status.task is not None]
    return {
        "connectors": len(found) - len(tasks),
        "tasks": len(tasks),
        "running": sum(status.state is State.RUNNING for status in tasks),
        "failed": sum(status.state is State.FAILED for status in found),
    }
