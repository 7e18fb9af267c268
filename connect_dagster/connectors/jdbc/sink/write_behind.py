"""Write-behind: a separate thread writes a batch while Spark decodes the next one."""

from __future__ import annotations

import contextvars
import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass

from connect_dagster.connectors.jdbc.sink.record_tables import RecordTable, starts
from connect_dagster.plugin.records import TopicPartition


@dataclass(frozen=True, slots=True)
class FailedWrite:
    """A batch that was not written.

    Attributes:
        starts: the first offset of each partition.
        error: why.
    """

    starts: Mapping[TopicPartition, int]
    error: BaseException


class WriteBehind:
    """A writer thread for one batch at a time.

    Args:
        write: writes a batch; called in the other thread.
        failed: called there when it could not; must not take long.
    """

    def __init__(self, write: Callable[[Sequence[RecordTable]], None], failed: Callable[[], None]) -> None:
        self._write = write
        self._failed = failed
        self._batches: queue.SimpleQueue[tuple[Sequence[RecordTable], Future[None]] | None] = queue.SimpleQueue()
        self._last: tuple[Mapping[TopicPartition, int], Future[None]] | None = None
        self._thread: threading.Thread | None = None

    def begin(self, tables: Sequence[RecordTable]) -> None:
        """Start writing a batch; the one before it must be settled."""
        if self._thread is None:
            run = contextvars.copy_context().run
            self._thread = threading.Thread(target=run, args=(self._run,), name="jdbc-write-behind", daemon=True)
            self._thread.start()
        future: Future[None] = Future()
        self._last = (starts(tables), future)
        self._batches.put((tables, future))

    def settle(self) -> FailedWrite | None:
        """Wait for the batch that is being written; returns a failure, once."""
        if self._last is None:
            return None
        (first, future), self._last = self._last, None
        error = future.exception()
        return None if error is None else FailedWrite(first, error)

    def close(self, seconds: float) -> bool:
        """End the thread after the batch that it writes; return whether that took no longer than ``seconds``."""
        if self._thread is None:
            return True
        self._batches.put(None)
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while self._write_next():
            pass

    def _write_next(self) -> bool:
        batch = self._batches.get()
        if batch is None:
            return False
        tables, future = batch
        try:
            self._write(tables)
        except BaseException as error:
            future.set_exception(error)
            self._failed()
        else:
            future.set_result(None)
        return True
