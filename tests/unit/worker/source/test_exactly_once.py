"""Which batches of a source task share a transaction, and what becomes of one that cannot be committed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

import pyarrow as pa
import pytest

from connect_dagster.errors import ConnectError
from connect_dagster.kafka.transactional_producer import (
    TransactionalProducer,
    TransactionFailedError,
    TransactionTimeoutError,
    UnknownTopicError,
)
from connect_dagster.worker.source.delivery import Batch, Delivery, DeliveryThread, LargeBatchGate
from connect_dagster.worker.source.exactly_once import Changes, ExactlyOnceSender
from connect_dagster.worker.source.transaction_ends import End

FILE = {"filename": "a.txt"}


@dataclass
class Producer:
    """Notes what it is asked for; fails once where a test says so."""

    calls: list[str] = field(default_factory=list)
    failure: Exception | None = None
    unknown: set[str] = field(default_factory=set)
    flushes: list[int] = field(default_factory=list)

    def attach(self, *_: object) -> None: ...

    def begin(self) -> None:
        self.calls.append("begin")

    def send(self, table: pa.Table, topic: str | None) -> None:
        self.queue(table, topic)
        self.flush()

    def flush(self) -> None:
        self.flushes.append(len(self.calls))

    def queue(self, table: pa.Table, topic: str | None) -> None:
        if topic in self.unknown:
            self.unknown.remove(topic)
            raise UnknownTopicError(f"{topic} is not known")
        self.calls.append(f"{topic}: {b' '.join(table.column('value').to_pylist()).decode()}")

    def commit(self) -> None:
        if self.failure is not None:
            raise self.failure
        self.calls.append("commit")

    def abort(self) -> None:
        self.calls.append("abort")

    def serve(self) -> None: ...

    def purge(self) -> None: ...

    def close(self) -> None:
        self.calls.append("close")


@dataclass
class Offsets:
    """A topic of offsets."""

    topic: str = "offsets"
    copied: list[Changes] = field(default_factory=list)

    def records(self, changes: Changes) -> pa.Table:
        return pa.table({"value": pa.array([str((offset or {})["position"]).encode() for _, offset in changes])})

    def committed(self, changes: Changes) -> None:
        self.copied.append(changes)


@dataclass
class Encoded:
    table: pa.Table


@dataclass
class Sending:
    """A sender with all that it needs.

    Attributes:
        done: topics of the batches whose transaction is committed.
        dropped: number of batches that are polled again.
        now: the time in seconds.
    """

    interval: float | None = math.inf
    producer: Producer = field(default_factory=Producer)
    offsets: Offsets = field(default_factory=Offsets)
    done: list[str] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    commit_times: list[float] = field(default_factory=list)
    dropped: int = 0
    now: float = 0.0
    is_member: bool = True
    is_over: bool = False

    def __post_init__(self) -> None:
        thread = DeliveryThread(
            over=lambda: self.is_over,
            may_send=lambda: self.is_member,
            wait=self._wait,
            fail=lambda _: None,
            done=lambda batch, encoded: self.done.append(batch.topic or ""),
            dropped=self._drop,
        )
        self.sender = ExactlyOnceSender(
            cast("TransactionalProducer", self.producer),
            self.offsets,
            self.interval,
            thread,
            "client",
            self._committed,
            lambda: self.now,
        )

    def _committed(self, records: int, milliseconds: float) -> None:
        self.sizes.append(records)
        self.commit_times.append(milliseconds)

    def _drop(self, count: int) -> None:
        self.dropped += count

    def _wait(self, _: float) -> bool:
        self.producer.calls.append("wait")
        self.is_member = True
        return True

    def send(
        self,
        *values: str,
        position: int = 1,
        topic: str = "lines",
        end: End | None = End.COMMIT,
        reported: Callable[[], bool] = lambda: True,
    ) -> None:
        table = pa.table({"value": pa.array([value.encode() for value in values], pa.binary())})
        batch: Batch[Any] = Batch(
            lambda: Encoded(table),
            topic,
            lambda _: None,
            offsets=((FILE, {"position": position}),),
            end=end,
            reported=reported,
        )
        self.sender.send(batch, Encoded(table))

    def end(self, end: End) -> None:
        """Send the end of a transaction alone."""
        nothing = Encoded(pa.table({"value": pa.array([], pa.binary())}))
        self.sender.send(Batch(lambda: nothing, None, lambda _: None, end=end), nothing)


def test_each_poll_is_a_transaction() -> None:
    sending = Sending()
    sending.send("a", "b", position=2)
    sending.send("c", position=3)
    assert sending.producer.calls == [
        *("begin", "lines: a b", "offsets: 2", "commit"),
        *("begin", "lines: c", "offsets: 3", "commit"),
    ]
    assert (sending.done, sending.sizes) == (["lines", "lines"], [2, 1])
    assert sending.offsets.copied == [[(FILE, {"position": 2})], [(FILE, {"position": 3})]]


def test_all_batches_of_a_poll_share_a_transaction_and_its_last_offset() -> None:
    sending = Sending()
    sending.send("a", position=1, end=None, topic="one")
    assert sending.done == []
    sending.send("b", position=2, topic="two")
    assert sending.producer.calls == ["begin", "one: a", "two: b", "offsets: 2", "commit"]
    assert sending.done == ["one", "two"]


def test_the_records_before_a_commit_are_waited_for_together_with_the_offsets() -> None:
    sending = Sending()
    for position, (value, end) in enumerate([("a", End.COMMIT), ("b", None), ("c", End.COMMIT)]):
        sending.send(value, position=position, end=end)
    calls, flushes = sending.producer.calls, sending.producer.flushes
    assert calls[:4] == ["begin", "lines: a", "offsets: 0", "commit"]
    assert calls[4:] == ["begin", "lines: b", "lines: c", "offsets: 2", "commit"]
    assert flushes == [2, 6], "the first transaction waits before its offsets, and each other batch is waited for"


def test_a_batch_without_records_has_an_offset_all_the_same() -> None:
    sending = Sending()
    sending.send(position=7)
    assert sending.producer.calls == ["begin", "offsets: 7", "commit"]
    assert sending.done == ["lines"]


def test_an_interval_ends_with_a_batch_or_without_one() -> None:
    sending = Sending(interval=10.0)
    sending.send("a", position=1, end=None)
    sending.sender.serve()
    assert sending.done == []
    sending.now = 10.0
    sending.send("b", position=2, end=None)
    assert sending.done == ["lines", "lines"]
    sending.send("c", position=3, end=None)
    sending.now = 19.9
    sending.sender.serve()
    assert len(sending.done) == 2
    sending.now = 20.0
    sending.sender.serve()
    assert sending.producer.calls == [
        *("begin", "lines: a", "lines: b", "offsets: 2", "commit"),
        *("begin", "lines: c", "offsets: 3", "commit"),
    ]


def test_an_end_commits_what_is_open() -> None:
    sending = Sending(interval=10.0)
    sending.sender.finish()
    sending.send("a", end=None)
    sending.sender.finish()
    assert sending.producer.calls == ["begin", "lines: a", "offsets: 1", "commit"]
    assert sending.done == ["lines"]


def test_an_idle_task_has_no_transaction() -> None:
    sending = Sending(interval=0.0)
    sending.sender.serve()
    assert sending.producer.calls == []


def test_a_worker_without_its_lease_waits_before_a_transaction() -> None:
    sending = Sending(is_member=False)
    sending.send("a")
    assert sending.producer.calls == ["wait", "begin", "lines: a", "offsets: 1", "commit"]


@pytest.mark.parametrize("topic", ["two", "offsets"])
def test_a_topic_that_is_not_known_yet_takes_another_transaction_for_all(topic: str) -> None:
    sending = Sending(producer=Producer(unknown={topic}))
    sending.send("a", position=1, end=None, topic="one")
    sending.send("b", position=2, topic="two")
    first = ["begin", "one: a"] if topic == "two" else ["begin", "one: a", "two: b"]
    again = ["begin", "one: a", "two: b", "offsets: 2", "commit"]
    assert [call for call in sending.producer.calls if call != "wait"] == [*first, "abort", *again]
    assert (sending.done, len(sending.offsets.copied)) == (["one", "two"], 1)


def test_what_is_not_reported_is_not_committed() -> None:
    sending = Sending()
    sending.send("a", reported=lambda: False)
    assert sending.producer.calls == ["begin", "lines: a"]
    assert sending.done == []


@pytest.mark.parametrize(
    ("failure", "text"),
    [
        (TransactionFailedError("the brokers refuse it"), "^the brokers refuse it$"),
        (TransactionTimeoutError("fenced"), r"another task has taken its place: fenced\. .*transaction\.timeout\.ms"),
    ],
)
def test_what_cannot_be_committed_fails_the_task(failure: Exception, text: str) -> None:
    sending = Sending(producer=Producer(failure=failure))
    with pytest.raises(ConnectError, match=text):
        sending.send("a")
    assert (sending.done, sending.offsets.copied) == ([], [])


def test_records_for_the_topic_of_the_offsets_are_refused() -> None:
    sending = Sending()
    with pytest.raises(
        ConnectError, match=r"^Source tasks may not produce to their own offsets topics .* for topic offsets, .*storage"
    ):
        sending.send("a", topic="offsets")
    assert sending.producer.calls == []


# Transactions that the connector ends


def of_connector() -> Sending:
    return Sending(interval=None)


def test_only_the_connector_ends_its_transactions() -> None:
    sending = of_connector()
    sending.send("a", position=1, end=None)
    sending.sender.finish()
    sending.now = 1e9
    sending.sender.serve()
    assert (sending.producer.calls, sending.sender.held, sending.done) == (["begin", "lines: a"], 1, [])
    sending.send("b", position=2)
    assert sending.producer.calls == ["begin", "lines: a", "lines: b", "offsets: 2", "commit"]
    assert (sending.sender.held, sending.done, sending.sizes) == (0, ["lines", "lines"], [2])


def test_an_abort_drops_records_and_commits_their_offsets() -> None:
    sending = of_connector()
    sending.send("a", position=1, end=None)
    sending.send("b", position=2, end=End.ABORT)
    sending.send("c", position=3)
    assert sending.producer.calls == [
        *("begin", "lines: a", "lines: b", "abort"),
        *("begin", "offsets: 2", "commit"),
        *("begin", "lines: c", "offsets: 3", "commit"),
    ]
    assert (sending.done, sending.sizes) == (["lines"] * 3, [0, 1])


def test_an_end_may_come_without_records() -> None:
    sending = of_connector()
    sending.send("a", position=1, end=None)
    sending.end(End.COMMIT)
    assert sending.producer.calls == ["begin", "lines: a", "offsets: 1", "commit"]
    sending.end(End.COMMIT)
    assert len(sending.producer.calls) == 4


def test_an_abort_of_nothing_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    sending = of_connector()
    sending.end(End.ABORT)
    assert sending.producer.calls == []
    assert "Ignoring request by task to abort transaction as the current transaction is empty" in caplog.text


def test_what_is_polled_again_leaves_its_transaction() -> None:
    sending = of_connector()
    sending.send("a", position=1, end=None)
    sending.send("b", position=2, end=None)
    sending.sender.drop()
    assert sending.producer.calls == ["begin", "lines: a", "lines: b", "abort"]
    assert (sending.dropped, sending.sender.held, sending.done) == (2, 0, [])


def test_an_abandoned_task_copies_no_offsets() -> None:
    """The run after it may have committed and copied later ones when the last commit of this one returns."""
    sending = Sending()
    commit = sending.producer.commit

    def abandoned() -> None:
        commit()
        sending.is_over = True

    sending.producer.commit = abandoned  # type: ignore[method-assign]
    sending.send("a")
    assert sending.producer.calls[-1] == "commit"
    assert (sending.done, sending.offsets.copied) == (["lines"], [])


@pytest.mark.parametrize(("interval", "held"), [(60.0, 0), (math.inf, 0), (None, 2)])
def test_batches_of_an_open_transaction_are_counted(interval: float | None, held: int) -> None:
    sending = Sending(interval)
    sending.send("a", end=None)
    sending.send("b", end=None)
    assert (sending.sender.open, sending.sender.held) == (2, held)
    sending.send("c", end=End.COMMIT)
    assert (sending.sender.open, sending.sender.held) == (0, 0)


def test_a_commit_is_timed() -> None:
    sending = Sending()
    commit = sending.producer.commit

    def slow() -> None:
        sending.now += 0.25
        commit()

    sending.producer.commit = slow  # type: ignore[method-assign]
    sending.send("a")
    assert (sending.sizes, sending.commit_times) == ([1], [250.0])


@pytest.mark.parametrize("finishing", [False, True])
def test_an_open_transaction_is_committed_at_the_end_of_a_task_that_did_not_fail(finishing: bool) -> None:
    producer, offsets = Producer(), Offsets()

    def opened(thread: DeliveryThread) -> ExactlyOnceSender:
        return ExactlyOnceSender(cast("TransactionalProducer", producer), offsets, math.inf, thread, "client")

    delivery = Delivery(opened, "test-0", ("test", "task-0"), LargeBatchGate())
    for value, end in (("a", End.COMMIT), ("b", None)):
        table = pa.table({"value": pa.array([value.encode()], pa.binary())})
        changes = ((FILE, {"position": ord(value)}),)
        delivery.submit(Batch(partial(Encoded, table), "lines", lambda _: None, offsets=changes, end=end))
    assert delivery.drain(20, finishing=finishing)
    delivery.close()
    first, second = ["begin", "lines: a", "offsets: 97", "commit"], ["begin", "lines: b"]
    assert producer.calls == [*first, *second, *(["offsets: 98", "commit"] if finishing else []), "close"]
