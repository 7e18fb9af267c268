"""Where the transactions of a source task end, with each kind of ``transaction.boundary`` (KIP-618).

Java: the ``TransactionBoundaryManager`` of ``ExactlyOnceWorkerSourceTask``, and ``WorkerTransactionContext``.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from enum import Enum, auto
from typing import Any, Protocol, cast

from connect_dagster.errors import ConnectError
from connect_dagster.plugin.lines import SourceBatch
from connect_dagster.plugin.records import SourceRecord
from connect_dagster.worker.record_frames import Polled


class End(Enum):
    """End of a transaction; after an abort the offsets of its records are committed."""

    COMMIT = auto()
    ABORT = auto()


class TransactionEnds(Protocol):
    """Ends of transactions among the records of a task, for the task's thread."""

    def parts(self, polled: Polled) -> Iterator[tuple[Polled, End | None]]:
        """Return the result of a poll, cut behind the records that end a transaction. Raises ConnectError."""

    def after_poll(self, *, has_records: bool) -> End | None:
        """Return the end of a transaction behind all records of a poll. Raises ConnectError."""


class NoEnds:
    """Transactions that end by the clock, or none at all."""

    def parts(self, polled: Polled) -> Iterator[tuple[Polled, End | None]]:
        """Return the result of a poll."""
        yield polled, None

    def after_poll(self, *, has_records: bool) -> End | None:
        """Return ``None``."""
        return None


class EachPoll(NoEnds):
    """A transaction for each result of a poll."""

    def after_poll(self, *, has_records: bool) -> End | None:
        """Return a commit where there are records."""
        return End.COMMIT if has_records else None


def ends_of(boundary: str) -> TransactionEnds:
    """Return the ends of a value of ``transaction.boundary``."""
    match boundary.lower():
        case "connector":
            return RequestedEnds()
        case "poll":
            return EachPoll()
        case _:
            return NoEnds()


class RequestedEnds:
    """Transactions that the task ends (``TransactionContext``). Requests may come from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._of_polls: set[End] = set()
        # With the records: another could have the id of one that is gone.
        self._of_records: dict[int, tuple[object, set[End]]] = {}

    def commit_transaction(self, last: SourceRecord | SourceBatch | None = None) -> None:
        """Request a commit behind a record or a frame, or behind the next result of a poll."""
        self._request(last, End.COMMIT)

    def abort_transaction(self, last: SourceRecord | SourceBatch | None = None) -> None:
        """Request an abort, the same way."""
        self._request(last, End.ABORT)

    def parts(self, polled: Polled) -> Iterator[tuple[Polled, End | None]]:
        """Return the result of a poll, cut behind the records that requests name.

        Raises:
            ConnectError: both ends were requested for one record.
        """
        if polled is None or isinstance(polled, SourceBatch):
            yield polled, self._after(polled)
            return
        start = 0
        for number, item in enumerate(polled, 1):
            if (end := self._after(item)) is not None:
                yield polled[start:number], end
                start = number
        if start < len(polled):
            yield polled[start:], None

    def after_poll(self, *, has_records: bool) -> End | None:
        """Return the end that was requested behind all records of a poll.

        Raises:
            ConnectError: both were.
        """
        with self._lock:
            ends, self._of_polls = self._of_polls, set()
        if len(ends) > 1:
            raise ConnectError("Connector requested both commit and abort of same transaction")
        return next(iter(ends), None)

    def _request(self, last: object, end: End) -> None:
        with self._lock:
            ends = self._of_polls if last is None else self._of_records.setdefault(id(last), (last, set()))[1]
            ends.add(end)

    def _after(self, item: object) -> End | None:
        with self._lock:
            _, ends = self._of_records.pop(id(item), (None, set()))
        if len(ends) > 1:
            named = cast("Any", item)
            place = f"{named.topic}/{getattr(named, 'partition', None)}"
            raise ConnectError(
                f"Connector requested both commit and abort of same record against topic/partition {place}"
            )
        return next(iter(ends), None)
