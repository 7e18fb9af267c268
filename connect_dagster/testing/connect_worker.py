"""A worker as a child process, for tests of plugins: its connectors, what they have written, its log."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from confluent_kafka import Producer

from connect_dagster.client.rest_client import KafkaConnectClient, KafkaConnectError
from connect_dagster.client.types import ConnectorStatus, State
from connect_dagster.embedded.child_process import end_leashed, start_leashed
from connect_dagster.embedded.ports import HOST, free_port
from connect_dagster.java.properties import property_lines
from connect_dagster.testing.recording_sink import RecordingSinkConnector, read_journal

_JSON = "org.apache.kafka.connect.json.JsonConverter"
_RECORDER = f"{RecordingSinkConnector.__module__}.{RecordingSinkConnector.__name__}"
_POLL_SECONDS = 0.05
_START_SECONDS = 150.0
_STOP_SECONDS = 30.0
_QUOTED_LOG = 6000
_DEFAULTS = {
    "key.converter": _JSON,
    "value.converter": _JSON,
    "key.converter.schemas.enable": "false",
    "value.converter.schemas.enable": "false",
    "offset.flush.interval.ms": "1000",
    # The second compiler of the JVM gains nothing in seconds.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=128m",
}
GROUP = {
    **{f"{kind}.storage.topic": f"connect-{kind}s" for kind in ("config", "offset", "status")},
    **{f"{kind}.storage.replication.factor": "1" for kind in ("config", "offset", "status")},
    "group.id": "connect-tests",
}
"""Properties that make a worker a distributed one, with its group and its topics on one broker."""


class Recorder:
    """Records of topics as a sink of the worker gets them, through the worker's converters.

    Args:
        worker: runs the sink.
        name: of its connector.
        journal: of the sink.
    """

    def __init__(self, worker: ConnectWorker, name: str, journal: Path) -> None:
        self._worker = worker
        self._name = name
        self._journal = journal

    def records(self) -> list[dict[str, Any]]:
        """Return all records until now, as ``topic``, ``partition``, ``offset``, ``key`` and ``value``."""
        calls = [call for call in read_journal(self._journal) if call["call"] == "put"]
        return [record for call in calls for record in call["records"]]

    def wait_for(self, count: int, timeout: float = 60) -> list[dict[str, Any]]:
        """Return the records once there are enough.

        Raises:
            AssertionError: there are fewer after ``timeout`` seconds, or the sink has FAILED.
        """

        def are_there() -> bool:
            self._worker.check(self._name)
            return len(self.records()) >= count

        self._worker.wait_until(are_there, lambda: f"bring {count} records: {self.records()}", timeout)
        return self.records()


class ConnectWorker:
    """One ``connect-standalone`` or ``connect-distributed``; a context manager.

    Args:
        properties: of the worker, ``bootstrap.servers`` among them, and those of ``GROUP`` for a distributed one.
            Listener, offsets file and JSON converters without schemas get values when absent.
        folder: for its files and its log.

    Attributes:
        client: of its REST API.
        log_file: all that it logs.
    """

    def __init__(self, properties: Mapping[str, str], folder: Path) -> None:
        self._folder = folder
        self._is_distributed = "group.id" in properties
        offsets = {} if self._is_distributed else {"offset.storage.file.filename": str(folder / "connect.offsets")}
        self._properties = {**_DEFAULTS, "listeners": f"http://{HOST}:{free_port()}", **offsets, **properties}
        self._recorders = 0
        self._process: subprocess.Popen[bytes] | None = None
        self.client = KafkaConnectClient(self._properties["listeners"])
        self.log_file = folder / "worker.log"

    def __enter__(self) -> Self:
        self._folder.mkdir(parents=True, exist_ok=True)
        kind = "distributed" if self._is_distributed else "standalone"
        file = self._folder / "worker.properties"
        file.write_text(property_lines(self._properties))
        with self.log_file.open("ab") as log:
            command = Path(sys.executable).with_name(f"connect-{kind}")
            self._process = start_leashed([command, file], log=log)
        try:
            self.wait_until(self._is_healthy, lambda: "start", _START_SECONDS)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def bootstrap_servers(self) -> str:
        """Return the brokers."""
        return self._properties["bootstrap.servers"]

    def create(self, name: str, config: Mapping[str, str], timeout: float = 60) -> None:
        """Create a connector, or give it this configuration, and wait until it and its tasks are RUNNING.

        Raises:
            AssertionError: it has FAILED, with the trace, or is not RUNNING after ``timeout`` seconds.
            KafkaConnectError: the worker refuses the configuration.
        """
        self.client.put_config(name, dict(config))

        def runs() -> bool:
            status = self.check(name)
            return status is not None and status.has_reached(State.RUNNING)

        self.wait_until(runs, lambda: f"run {name}", timeout)

    def check(self, name: str) -> ConnectorStatus | None:
        """Return the status of a connector, ``None`` before there is one.

        Raises:
            AssertionError: it or a task has FAILED; quotes the trace.
        """
        try:
            status = self.client.status(name)
        except KafkaConnectError as error:
            if error.status in (404, 409):
                return None
            raise
        for part in (status.connector, *status.tasks):
            if part.state is State.FAILED:
                raise AssertionError(f"Connector {name} has FAILED: {part.trace}")
        return status

    def delete(self, name: str) -> None:
        """Delete a connector."""
        self.client.delete(name)

    def send(self, topic: str, *values: Any, key: Any = None) -> None:
        """Write values as JSON to a topic, which is there after that."""
        producer = Producer({"bootstrap.servers": self.bootstrap_servers, "linger.ms": 0})
        for value in values:
            producer.produce(topic, json.dumps(value), None if key is None else json.dumps(key))
        if left := producer.flush(_STOP_SECONDS):
            raise AssertionError(f"The broker did not take {left} of {len(values)} records for {topic}")

    def record(self, *topics: str, **config: str) -> Recorder:
        """Run a sink that records all records of topics, from their first one on.

        Args:
            topics: may be missing until a source creates them.
            config: further keys of the sink, with ``_`` for the dots of their names.
        """
        self._recorders += 1
        name = f"recorder-{self._recorders}"
        journal = self._folder / f"{name}.jsonl"
        own = {"connector.class": _RECORDER, "topics": ",".join(topics), "journal": str(journal)}
        self.create(name, {**own, **{key.replace("_", "."): value for key, value in config.items()}})
        return Recorder(self, name, journal)

    def log(self) -> str:
        """Return all that it has logged."""
        return self.log_file.read_text(errors="replace")

    def stop(self) -> None:
        """Stop it as Ctrl+C does, and kill it where that takes longer than half a minute."""
        process, self._process = self._process, None
        if process is not None:
            end_leashed(process, _STOP_SECONDS)

    def wait_until(self, condition: Callable[[], bool], aim: Callable[[], str], timeout: float) -> None:
        """Wait for a condition, but not for a worker that has ended.

        Args:
            condition: asked twenty times a second.
            aim: returns an infinitive for the error.
            timeout: in seconds.

        Raises:
            AssertionError: it ended or took too long; quotes the log's end.
        """
        deadline = time.monotonic() + timeout
        while not condition():
            ended = self._process is None or self._process.poll() is not None
            if ended or time.monotonic() > deadline:
                fate = "ended" if ended else f"took over {timeout:g} s"
                raise AssertionError(f"The worker did not {aim()}: it {fate}\n{self.log()[-_QUOTED_LOG:]}")
            time.sleep(_POLL_SECONDS)

    def _is_healthy(self) -> bool:
        try:
            return self.client.is_alive() and self.client.health().status == "healthy"
        except KafkaConnectError:
            return False
