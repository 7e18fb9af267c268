"""The workers that are compared, each a child process with a REST API, and their settings."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import requests

from benchmarks.measure import Deadline, InvalidCellError, ProcessTree
from benchmarks.workload import Format
from tests.conformance.java_cluster import JavaDistributed
from tests.conformance.java_connect import JavaStandalone
from tests.distributed_process import DistributedProcess
from tests.integration.worker_process import WorkerProcess, write_properties

Properties = Mapping[str, str]
Part = Mapping[str, Any]  # state, worker and trace of a connector or a task
_REST_SECONDS = 100.0
_CONFLICT = 409
_START_SECONDS = 120.0
_CHECK_SECONDS = 2.0  # asking takes the worker's time
_QUOTED_LOG = 3000

# As `connect-standalone.sh`, `connect-distributed.sh` and `connect-mirror-maker.sh` of Apache Kafka start it.
_JAVA_SCRIPT_HEAP = "2g"
_JAVA_SCRIPT_OPTIONS = (
    "-Xms256M",
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
)
# Bigger batches on every way; a heap in which they fit, as the default one only grows the process.
_JAVA_TUNED_HEAP = "1g"
_JAVA_TUNED_WORKER = {
    "producer.batch.size": "524288",
    "producer.linger.ms": "20",
    "producer.buffer.memory": "134217728",
    "producer.max.request.size": "8388608",
    "producer.send.buffer.bytes": "1048576",
    "consumer.max.poll.records": "5000",
    "consumer.max.partition.fetch.bytes": "8388608",
    "consumer.receive.buffer.bytes": "1048576",
}
_JAVA_TUNED_SOURCE = {"batch.size": "10000"}


class Process(Protocol):
    """A process of either side."""

    @property
    def pid(self) -> int:
        """Return its process id."""

    @property
    def exit_code(self) -> int | None:
        """Return how it ended; none while it runs."""

    def start(self) -> None:
        """Start the process."""

    def stop(self) -> object:
        """End it and wait for that."""

    def log(self) -> str:
        """Return all that it has logged."""


class Worker(Process, Protocol):
    """A worker process of either side."""

    @property
    def rest_url(self) -> str:
        """Return the URL of its REST API."""

    def wait_ready(self, timeout: float) -> None:
        """Wait until it and the connectors it was started with are there."""

    def kill(self) -> None:
        """End it by SIGKILL."""


Make = Callable[[Properties, Sequence[Properties], Path], Worker]


@dataclass(frozen=True, slots=True)
class Contestant:
    """One column of the table.

    Attributes:
        name: its head.
        jvm: what its JVM is told, for the reader.
        make: a worker from its properties, its first connectors' properties and a folder.
        worker_props: what it is told beyond what all are told.
        source_props: what its source connectors are told beyond file and topic.
        make_member: a worker of a group from its properties and a folder; none where only single workers are compared.
        java: heap and options of the JVM of Java's worker; none for ours.
    """

    name: str
    jvm: str
    make: Make
    worker_props: Properties = field(default_factory=dict)
    source_props: Properties = field(default_factory=dict)
    make_member: Callable[[Properties, Path], Worker] | None = None
    java: tuple[str, tuple[str, ...]] | None = None


def java_standalone(heap: str, jvm: tuple[str, ...], jars: Sequence[Path] = ()) -> Make:
    """Return a factory of standalone Java workers with a heap size, JVM options and further JARs."""

    def make(props: Properties, connectors: Sequence[Properties], folder: Path) -> Worker:
        return JavaStandalone(props, connectors, folder, heap=heap, jvm=jvm, jars=jars)

    return make


def _java_member(props: Properties, folder: Path) -> Worker:
    return JavaDistributed(props, folder, heap=_JAVA_SCRIPT_HEAP, jvm=_JAVA_SCRIPT_OPTIONS)


def _java_tuned_member(props: Properties, folder: Path) -> Worker:
    return JavaDistributed(props, folder, heap=_JAVA_TUNED_HEAP, jvm=())


def _ours(props: Properties, connectors: Sequence[Properties], folder: Path) -> Worker:
    folder.mkdir(parents=True, exist_ok=True)
    files = [write_properties(folder / f"{connector['name']}.properties", connector) for connector in connectors]
    return WorkerProcess(props, files, folder, jvm={})


def _our_member(props: Properties, folder: Path) -> Worker:
    return DistributedProcess(props, folder, jvm={})


JAVA = Contestant(
    "Java defaults",
    "heap 2g and the options of connect-standalone.sh, connect-distributed.sh and connect-mirror-maker.sh",
    java_standalone(_JAVA_SCRIPT_HEAP, _JAVA_SCRIPT_OPTIONS),
    make_member=_java_member,
    java=(_JAVA_SCRIPT_HEAP, _JAVA_SCRIPT_OPTIONS),
)


def tuned(jars: Sequence[Path] = ()) -> Contestant:
    """Return Java with larger batches, and with further JARs or folders of classes."""
    return Contestant(
        "Java tuned",
        "heap 1g",
        java_standalone(_JAVA_TUNED_HEAP, (), jars),
        _JAVA_TUNED_WORKER,
        _JAVA_TUNED_SOURCE,
        make_member=_java_tuned_member,
        java=(_JAVA_TUNED_HEAP, ()),
    )


TUNED = tuned()
OURS = Contestant("ours", "at its defaults", _ours, make_member=_our_member)
CONTESTANTS = (JAVA, TUNED, OURS)
IN_GROUPS = (JAVA, OURS)


class Running:
    """A started worker with its REST API.

    Args:
        contestant: whose it is.
        worker: the process.
    """

    def __init__(self, contestant: Contestant, worker: Worker) -> None:
        self.processes = ProcessTree(worker.pid)
        self._contestant = contestant
        self._worker = worker

    @property
    def rest_url(self) -> str:
        """Return the URL of its REST API."""
        return self._worker.rest_url

    @property
    def id(self) -> str:
        """Return its worker id in statuses."""
        return self.rest_url.partition("://")[2]

    def wait_ready(self) -> None:
        """Wait until its REST API answers and its first connectors have tasks."""
        self._worker.wait_ready(_START_SECONDS)

    def create(self, connector: Properties) -> None:
        """Create a connector."""
        self._ask("POST", "/connectors", {"name": connector["name"], "config": dict(connector)})

    def accepts(self, connector: Properties) -> bool:
        """Create or reconfigure a connector; returns false while its group rebalances: repeat the request."""
        path = f"/connectors/{connector['name']}/config"
        return self._answer("PUT", path, dict(connector), but=_CONFLICT).status_code != _CONFLICT

    def delete(self, name: str) -> None:
        """Delete a connector."""
        self._ask("DELETE", f"/connectors/{name}")

    def kill(self) -> None:
        """End it by SIGKILL."""
        self._worker.kill()

    def check(self) -> None:
        """Raise `InvalidCellError` with the trace when a connector or task has failed."""
        self.parts()

    def await_end(self, deadline: Deadline, is_done: Callable[[], bool], poll_seconds: float) -> None:
        """Poll until a cell is done, and look every two seconds whether a connector or task has failed.

        Raises:
            InvalidCellError: one has failed, or the time is over.
        """
        polls, polls_per_check = itertools.count(1), round(_CHECK_SECONDS / poll_seconds)

        def done() -> bool:
            if next(polls) % polls_per_check == 0:
                self.check()
            return is_done()

        deadline.wait(done, poll_seconds)

    def parts(self) -> dict[str, list[Part]]:
        """Return the states of each connector and, after it, of its tasks, by the connector's name.

        Raises:
            InvalidCellError: one has failed; quotes its trace.
        """
        found = {}
        for name, entry in self._ask("GET", "/connectors?expand=status").items():
            found[name] = [entry["status"]["connector"], *entry["status"]["tasks"]]
            for part in found[name]:
                if part["state"] == "FAILED":
                    raise InvalidCellError(f"{name} of {self._contestant.name} failed: {part.get('trace')}")
        return found

    def source(self, name: str, file: Path, topic: str) -> dict[str, str]:
        """Return the properties of a connector from a file to a topic."""
        return {**source(name, file, topic), **self._contestant.source_props}

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        answer = self._answer(method, path, body)
        return answer.json() if answer.content else None

    def _answer(self, method: str, path: str, body: Any = None, but: int | None = None) -> requests.Response:
        """Return a response that is not an error, except ``but``."""
        answer = requests.request(method, self.rest_url + path, json=body, timeout=_REST_SECONDS)
        if not answer.ok and answer.status_code != but:
            raise InvalidCellError(f"{method} {path} of {self._contestant.name}: {answer.status_code} {answer.text}")
        return answer


@contextmanager
def running(
    contestant: Contestant, form: Format, bootstrap: str, folder: Path, connectors: Sequence[Properties] = ()
) -> Iterator[Running]:
    """Start a worker; it is ended in any case.

    Args:
        contestant: whose worker.
        form: what its converters write and read.
        bootstrap: the broker.
        folder: a new one, for its files.
        connectors: those of its command line.

    Raises:
        InvalidCellError: something went wrong meanwhile; quotes the end of its log.
    """
    worker = contestant.make({**_shared(form, bootstrap), **contestant.worker_props}, connectors, folder)
    with started(contestant, worker):
        yield Running(contestant, worker)


@contextmanager
def running_member(
    contestant: Contestant, form: Format, bootstrap: str, folder: Path, group: Properties
) -> Iterator[Running]:
    """Start a worker of a group; it is ended in any case.

    Args:
        contestant: whose worker; one of `IN_GROUPS`.
        form: what its converters write and read.
        bootstrap: the broker.
        folder: a new one, for its files.
        group: what the workers of the group share.

    Raises:
        InvalidCellError: something went wrong meanwhile; quotes the end of its log.
    """
    assert contestant.make_member is not None, f"{contestant.name} is not compared in groups"
    worker = contestant.make_member({**group, **_shared(form, bootstrap), **contestant.worker_props}, folder)
    with started(contestant, worker):
        yield Running(contestant, worker)


@contextmanager
def started(contestant: Contestant, process: Process) -> Iterator[None]:
    """Start a process; it is ended in any case.

    Args:
        contestant: whose process.
        process: not started yet.

    Raises:
        InvalidCellError: something went wrong meanwhile; quotes the end of its log.
    """
    process.start()
    try:
        yield
    except (InvalidCellError, requests.RequestException, OSError, RuntimeError, AssertionError) as error:
        quoted = process.log()[-_QUOTED_LOG:]
        raise InvalidCellError(f"{error}\nThe end of the log of {contestant.name}:\n{quoted}") from error
    finally:
        process.stop()


def source(name: str, file: Path, topic: str) -> dict[str, str]:
    """Return the properties of a FileStreamSource at its defaults."""
    return {
        "name": name,
        "connector.class": "FileStreamSource",
        "tasks.max": "1",
        "file": str(file),
        "topic": topic,
    }


def sink(name: str, topic: str, file: Path) -> dict[str, str]:
    """Return the properties of a FileStreamSink at its defaults."""
    return {
        "name": name,
        "connector.class": "FileStreamSink",
        "tasks.max": "1",
        "topics": topic,
        "file": str(file),
    }


def _shared(form: Format, bootstrap: str) -> dict[str, str]:
    return {
        "bootstrap.servers": bootstrap,
        "key.converter": form.converter,
        "value.converter": form.converter,
        "offset.flush.interval.ms": "60000",  # Kafka Connect's default
    }
