"""A worker with one sink connector in this process: real herder, worker, group, broker and Spark."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from connect_dagster.herder.connector_offsets import OffsetEditor
from connect_dagster.herder.interface import ServerInfo
from connect_dagster.herder.standalone.herder import StandaloneHerder
from connect_dagster.herder.validation.validator import Validator
from connect_dagster.isolation.plugins import Plugins
from connect_dagster.protocol.states import TaskId
from connect_dagster.storage.file_offset_store import FileOffsetStore
from connect_dagster.testing.recording_sink import RecordingSinkConnector, read_journal
from connect_dagster.worker.config.worker import StandaloneConfig
from connect_dagster.worker.sink.task import WorkerSinkTask
from connect_dagster.worker.spark.session import Session
from connect_dagster.worker.worker import Worker

RECORDING = f"{RecordingSinkConnector.__module__}.{RecordingSinkConnector.__qualname__}"
STRING = "org.apache.kafka.connect.storage.StringConverter"
POLL_SECONDS = 0.02
Call = dict[str, Any]


class RunningSink:
    """One connector on a worker of its own; a context manager that starts and stops them.

    Args:
        session: Spark, shared by the tests.
        bootstrap: the brokers.
        folder: for the journal and the offsets file.
        name: the connector's name; its group is `connect-<name>`.
        config: the connector's configuration; a recording sink with a journal unless it says otherwise.
        worker: worker properties besides those every test needs.
    """

    def __init__(
        self,
        session: Session,
        bootstrap: str,
        folder: Path,
        name: str,
        config: Mapping[str, str],
        worker: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.group = f"connect-{name}"
        self.journal = folder / f"{name}.jsonl"
        self._config = {"name": name, "connector.class": RECORDING, "journal": str(self.journal), **config}
        props = StandaloneConfig.parse(
            {
                "bootstrap.servers": bootstrap,
                "key.converter": STRING,
                "value.converter": STRING,
                "offset.flush.interval.ms": "500",
                "offset.storage.file.filename": str(folder / f"{name}.offsets"),
                **(worker or {}),
            }
        )
        plugins, offsets = Plugins(packages=["tests"]), FileOffsetStore(props.offset_storage_file_filename)
        offsets.start()
        self._offsets = offsets
        self.worker = Worker("127.0.0.1:8083", props, plugins, session, offsets)
        editor = OffsetEditor(plugins, offsets, lambda _: {"bootstrap.servers": bootstrap}, 20)
        server = ServerInfo("4.3.1", "0", "here")
        self.herder = StandaloneHerder(self.worker, Validator(plugins, props), editor, server)

    def __enter__(self) -> Self:
        self.herder.start()
        self.create()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def create(self) -> None:
        """Create the connector."""
        self.herder.put_connector(self.name, self._config, allow_replace=False)

    def stop(self) -> None:
        """Stop the worker."""
        self.herder.stop()
        self._offsets.stop()

    def restart(self, number: int) -> None:
        """Restart a task."""
        self.herder.restart_task(TaskId(self.name, number))

    def task(self, number: int = 0) -> WorkerSinkTask:
        """The worker's own object of a task."""
        task = self.worker._tasks[TaskId(self.name, number)]
        assert isinstance(task, WorkerSinkTask)
        return task

    # What has happened

    def calls(self, *names: str, task: int | None = None) -> list[Call]:
        """Calls in the journal: of these names, of one task, where given."""
        return [
            call
            for call in read_journal(self.journal)
            if (not names or call["call"] in names) and task in (None, call["task"])
        ]

    def puts(self) -> list[list[tuple[int, int, Any]]]:
        """Partition, offset and value of the records of each put, failed ones included."""
        return [[_short(record) for record in call["records"]] for call in self.calls("put")]

    def values(self) -> list[Any]:
        """Values of all records that were put without a failure, in the order of their arrival."""
        return [
            record["value"]
            for call in self.calls("put")
            for record in call["records"]
            if not any(action.strip().startswith(("retry", "fail")) for action in call["does"].split(","))
        ]

    def states(self) -> list[str]:
        """States of connector and tasks."""
        status = self.herder.connector_status(self.name)
        return [status.connector.state.value, *(task.state.value for _, task in status.tasks)]

    def trace(self, number: int = 0) -> str:
        """Trace of a failed task."""
        return self.herder.task_status(TaskId(self.name, number)).trace or ""

    # Waiting

    def await_values(self, count: int, seconds: float = 60) -> list[Any]:
        """Wait until so many records were put; answers their values."""
        self.wait(lambda: len(self.values()) >= count, f"{count} records", seconds)
        return self.values()

    def await_states(self, *states: str, seconds: float = 60) -> None:
        """Wait until connector and tasks show these states."""
        self.wait(lambda: self.states() == list(states), f"states {states}", seconds)

    def wait(self, condition: Callable[[], bool], aim: str, seconds: float = 60) -> None:
        """Wait for a condition. Raises AssertionError with what is known when it does not come true."""
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                shown = "\n".join(str(call)[:300] for call in self.calls()[-10:])
                raise AssertionError(f"no {aim} within {seconds:g} s; {self.states()}\n{self.trace()}\n{shown}")
            time.sleep(POLL_SECONDS)


def _short(record: Mapping[str, Any]) -> tuple[int, int, Any]:
    return record["partition"], record["offset"], record["value"]
