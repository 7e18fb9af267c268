"""The life cycle of source and sink tasks: a thread, a target state, and status reports.

Java: ``WorkerTask``. States are reported under one lock, and nothing is reported after FAILED or after the end, so a
pause that arrives in the moment of a failure cannot hide it.
"""

from __future__ import annotations

import logging
import threading
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Protocol

from pyspark.sql import SparkSession

from connect_dagster.errors import ConnectError
from connect_dagster.protocol.states import State, TargetState, TaskId
from connect_dagster.worker.errors.failures import exception_text
from connect_dagster.worker.logs.context import set_context
from connect_dagster.worker.spark import references as java_references
from connect_dagster.worker.transforms import TransformationChain, close_chain

log = logging.getLogger(__name__)

StatusListener = Callable[[TaskId, State, str | None], None]


class Clock(Protocol):
    """The time that a task measures and waits for."""

    def monotonic(self) -> float:
        """Return the seconds of a monotonic clock."""

    def wait(self, changed: threading.Condition, seconds: float) -> None:
        """Wait for a notification, at most for the given seconds; the caller holds the condition's lock."""


class SystemClock:
    """The clock of this machine."""

    def monotonic(self) -> float:
        """Return the seconds of the machine's monotonic clock."""
        return time.monotonic()

    def wait(self, changed: threading.Condition, seconds: float) -> None:
        """Wait on the condition."""
        changed.wait(seconds)


class PluginTask(Protocol):
    """The common part of source and sink tasks of plugins."""

    def stop(self) -> None:
        """Close everything."""


class WorkerTask(ABC):
    """One task on its thread.

    Args:
        id: of the task.
        task: the plugin's task.
        spark: the worker's session.
        listener: called with each state, and with the trace of a failure.
        target: the state to begin with.
        transforms: closed at the end of the task.
        clock: for timeouts, back-off and idle time.
    """

    def __init__(
        self,
        id: TaskId,
        task: PluginTask,
        spark: SparkSession,
        listener: StatusListener,
        target: TargetState,
        transforms: TransformationChain,
        clock: Clock,
    ) -> None:
        self.id = id
        self.spark = spark
        self._task = task
        self._listener = listener
        self._target = target
        self._transforms = transforms
        self._clock = clock
        self._changed = threading.Condition()
        self._stopping = threading.Event()
        self._cancelled = False
        self._reported: State | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"task-thread-{id}", daemon=True)

    def start(self) -> None:
        """Start the task's thread."""
        self._thread.start()

    def transition(self, target: TargetState) -> None:
        """Pause or resume; takes effect before the next batch."""
        with self._changed:
            self._target = target
            self._changed.notify_all()

    def stop(self) -> None:
        """Request a graceful end; return at once."""
        self._stopping.set()
        with self._changed:
            self._changed.notify_all()

    def await_stop(self, seconds: float) -> bool:
        """Wait for the end; return whether it came."""
        return self._ended.wait(seconds)

    def cancel(self) -> None:
        """Abandon a task that did not end in time: its thread continues, its reports are ignored."""
        with self._changed:
            self._cancelled = True
        self._release()

    @property
    def stopping(self) -> bool:
        """Return whether the task was asked to stop."""
        return self._stopping.is_set()

    @property
    def paused(self) -> bool:
        """Return whether the target state is PAUSED."""
        return self._target is TargetState.PAUSED

    @abstractmethod
    def _start_plugin(self) -> None:
        """Prepare clients and start the plugin's task."""

    @abstractmethod
    def _execute(self) -> None:
        """Move records until the task is asked to stop."""

    @abstractmethod
    def _finish(self) -> None:
        """Commit the last offsets after an execution that did not fail."""

    @abstractmethod
    def _release(self) -> None:
        """Close the clients; called once or more, must not raise."""

    @property
    @abstractmethod
    def _kind(self) -> str:
        """Name of Java's class, for messages that users search for."""

    def _run(self) -> None:
        set_context(self.id.connector, f"task-{self.id.task}")
        try:
            self._name_spark_jobs()
            self._run_to_end()
        except BaseException as error:  # whatever a plugin raises: a task that has ended must not look as if it ran
            self._fail(error)
        else:
            self._report(State.UNASSIGNED)
        finally:
            self._ended.set()

    def _name_spark_jobs(self) -> None:
        context = self.spark.sparkContext
        context.setJobGroup(str(self.id), f"connector task {self.id}")
        context.setLocalProperty("spark.scheduler.pool", str(self.id))

    def _run_to_end(self) -> None:
        try:
            self._start_plugin()
            self._report(State.PAUSED if self.paused else State.RUNNING)
            self._execute()
            self._finish()
        finally:
            self._stop_plugin()
            self._release()
            close_chain(self._transforms)
            java_references.close_idle_callbacks(self.spark)
            java_references.look_soon()

    def _stop_plugin(self) -> None:
        try:
            self._task.stop()
        except Exception:
            log.warning("Could not stop task", exc_info=True)

    def _report(self, state: State, trace: str | None = None) -> None:
        with self._changed:
            if self._cancelled or self._reported is State.FAILED or self._reported is state:
                return
            self._reported = state
            self._listener(self.id, state, trace)

    def _fail(self, error: BaseException) -> None:
        text = failure_trace(error, self._kind)
        if self.stopping:  # its records are no longer needed
            log.warning(
                "%s{id=%s} After being scheduled for shutdown, task threw an uncaught exception.\n%s",
                self._kind,
                self.id,
                text,
            )
            self._report(State.UNASSIGNED)
            return
        log.error(
            "%s{id=%s} Task threw an uncaught and unrecoverable exception. "
            "Task is being killed and will not recover until manually restarted.\n%s",
            self._kind,
            self.id,
            text,
        )
        self._report(State.FAILED, text)

    def _await_change(self, seconds: float) -> None:
        """Wait until the target state changes, unless the task is stopping."""
        with self._changed:
            if not self.stopping:
                self._clock.wait(self._changed, seconds)

    def _wait_unless_stopped(self, seconds: float) -> bool:
        """Wait for the given seconds; return ``False`` as soon as the task is asked to stop."""
        due = self._clock.monotonic() + seconds
        while not self.stopping:
            left = due - self._clock.monotonic()
            if left <= 0:
                return True
            self._await_change(left)
        return False


def failure_trace(error: BaseException, kind: str) -> str:
    """Return the trace of a failure: a first line as Java's, then Python's traceback."""
    java = getattr(type(error), "java_name", None)
    if isinstance(error, ConnectError) and java:
        first = f"{java}: {error}"
    else:
        of_sinks = "Exiting WorkerSinkTask due to unrecoverable exception."
        what = of_sinks if kind == "WorkerSinkTask" else exception_text(error)
        first = f"org.apache.kafka.connect.errors.ConnectException: {what}"
    return first + "\n" + "".join(traceback.format_exception(error)).rstrip()
