"""A task's producer when there is no broker, or a record that no broker takes."""

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyarrow as pa
import pytest

from connect_dagster.embedded.ports import HOST, free_port
from connect_dagster.errors import ConnectError
from connect_dagster.kafka import clients
from connect_dagster.kafka.settings.java_settings import Settings
from connect_dagster.worker.source.at_least_once import AtLeastOnceSender
from connect_dagster.worker.source.delivery import Batch, BatchGivenUpError, Delivery, LargeBatchGate
from connect_dagster.worker.source.sender import RejectedRecord, _arguments


@dataclass(frozen=True, slots=True)
class Records:
    table: pa.Table


MakeDelivery = Callable[[], Delivery]


@pytest.fixture
def make() -> Iterator[MakeDelivery]:
    made: list[Delivery] = []

    def delivery() -> Delivery:
        settings = clients.producer_settings(f"{HOST}:{free_port()}", "test", {"max.request.size": "2000"})
        made.append(opened(settings))
        return made[-1]

    yield delivery
    for one in made:
        one.close()


def opened(settings: Settings, **more: Any) -> Delivery:
    return Delivery(partial(AtLeastOnceSender, settings), "test-0", ("test", "task-0"), LargeBatchGate(), **more)


def batch(
    *values: bytes,
    delivered: Callable[[], None] = lambda: None,
    tolerate: Callable[[RejectedRecord], bool] = lambda _: False,
) -> Batch[Records]:
    table = pa.table({"value": pa.array(values, pa.binary())})
    return Batch(lambda: Records(table), "t", lambda _: delivered(), tolerate)


NOTHING = Records(pa.table({"value": pa.array([], pa.binary())}))


def test_what_executors_have_sent_is_delivered(make: MakeDelivery) -> None:
    calls: list[str] = []

    def remote() -> Records:
        calls.append("sent")
        return NOTHING

    delivery = make()
    for _ in range(2):
        delivery.submit(replace(batch(b"x", delivered=lambda: calls.append("delivered")), remote=remote))
    assert delivery.drain(20)
    assert calls == ["sent", "delivered"] * 2


def test_what_executors_cannot_send_the_worker_sends(make: MakeDelivery) -> None:
    def remote() -> Records:
        raise ValueError("an executor is lost")

    delivery = make()
    delivery.submit(replace(batch(b"x" * 3000), remote=remote))
    assert "Message size too large" in str(wait_for_error(delivery))


def test_a_batch_that_executors_cannot_send_may_be_given_up(make: MakeDelivery) -> None:
    """Failed: the task, with an error without a text."""
    delivery, may_go_on, delivered = make(), threading.Event(), list[str]()

    def remote() -> Records:
        may_go_on.wait(10)
        raise ValueError("an executor is lost")

    def give_up() -> Records:
        raise BatchGivenUpError

    delivery.submit(Batch(give_up, "t", lambda _: None, remote=remote))
    delivery.submit(Batch(lambda: NOTHING, "t", lambda _: delivered.append("polled after it")))
    assert not delivery.has_encoded(0.1), "not sent yet"
    may_go_on.set()
    assert delivery.drain(10)
    assert delivery.has_encoded(0)
    assert delivery.has_given_up
    assert delivered == []
    delivery.resume()
    delivery.submit(Batch(lambda: NOTHING, "t", lambda _: delivered.append("polled again")))
    assert delivery.drain(10)
    assert delivered == ["polled again"]


def test_executors_are_asked_to_stop(make: MakeDelivery) -> None:
    cancelled = threading.Event()

    def remote() -> Records:
        assert cancelled.wait(20)
        raise ValueError("the job was cancelled")

    delivery = opened({}, cancel=cancelled.set)
    ended: list[str] = []
    delivery.submit(replace(batch(b"x", delivered=lambda: ended.append("delivered")), remote=remote))
    delivery.close()
    assert cancelled.is_set()
    assert ended == []


def test_a_worker_that_may_not_send_asks_no_executors() -> None:
    member, calls = threading.Event(), list[str]()

    def remote() -> Records:
        calls.append("sent")
        return NOTHING

    delivery = opened({}, may_send=member.is_set)
    delivery.submit(replace(batch(b"x"), remote=remote))
    time.sleep(0.3)
    assert calls == []
    member.set()
    assert delivery.drain(20)
    assert calls == ["sent"]
    delivery.close()


def wait_for_error(delivery: Delivery) -> Exception:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            delivery.check()
        except ConnectError as error:
            return error
        time.sleep(0.01)
    raise AssertionError("no error")


def test_what_no_broker_has_acknowledged_is_not_delivered(make: MakeDelivery) -> None:
    called: list[str] = []
    delivery = make()
    delivery.submit(batch(b"x", delivered=lambda: called.append("delivered")))
    assert not delivery.drain(0.3)
    began = time.monotonic()
    delivery.close()
    assert time.monotonic() - began < 5
    assert called == []


def test_the_waits_for_turns_are_reported() -> None:
    settings = clients.producer_settings(f"{HOST}:{free_port()}", "test", {})
    waits: list[float] = []
    delivery = opened(settings, turn_waited=waits.append)
    delivery.submit(batch(b"x"))
    delivery.submit(batch(b"y"))
    deadline = time.monotonic() + 20
    while len(waits) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    delivery.close()
    assert waits == [0.0, 0.0]


def test_a_batch_too_many_waits_until_the_task_is_abandoned(make: MakeDelivery) -> None:
    delivery = make()
    delivery.submit(batch(b"under way"))
    delivery.submit(batch(b"waiting"))
    delivery.close()
    delivery.submit(batch(b"nobody takes it"))  # returns all the same
    assert not delivery.drain(0)


def test_a_record_too_large_is_the_tasks_error(make: MakeDelivery) -> None:
    delivery = make()
    delivery.submit(batch(b"x" * 3000))
    text = str(wait_for_error(delivery))
    assert text.startswith("Unrecoverable exception from producer send callback: ")
    assert text.endswith("Message size too large: a record for topic t with a value of 3000 bytes")
    assert not delivery.drain(0)
    with pytest.raises(ConnectError):
        delivery.submit(batch(b"y"))


def test_a_record_too_large_may_be_tolerated(make: MakeDelivery) -> None:
    told: list[RejectedRecord] = []
    called: list[str] = []

    def tolerate(refused: RejectedRecord) -> bool:
        told.append(refused)
        return True

    delivery = make()
    delivery.submit(batch(b"x" * 3000, b"y" * 3000, delivered=lambda: called.append("delivered"), tolerate=tolerate))
    assert delivery.drain(20), "nothing is left to wait for"
    assert called == ["delivered"]
    assert [one.record["value"][:1] for one in told] == [b"x", b"y"]


def test_an_error_after_the_delivery_is_the_tasks_error(make: MakeDelivery) -> None:
    def fail() -> None:
        raise ConnectError("cannot note it")

    delivery = make()
    delivery.submit(batch(delivered=fail))
    assert str(wait_for_error(delivery)) == "cannot note it"


def test_what_is_null_is_left_out() -> None:
    headers = pa.array([[{"key": "h", "value": b"1"}, {"key": "h", "value": None}], [], None])
    chunk = pa.record_batch(
        {
            "topic": pa.array(["a", "b", "c"]),
            "partition": pa.array([1, None, 0]),
            "key": pa.array([b"k", None, None]),
            "headers": headers,
            "timestamp": pa.array([5, None, None]),
            "value": pa.array([b"v", b"w", None]),
        }
    )
    assert list(_arguments(chunk, None)) == [
        {
            "topic": "a",
            "partition": 1,
            "key": b"k",
            "headers": [("h", b"1"), ("h", None)],
            "timestamp": 5,
            "value": b"v",
        },
        {"topic": "b", "value": b"w"},
        {"topic": "c", "partition": 0},
    ]


def test_a_constant_topic_is_that_of_each_record() -> None:
    chunk = pa.record_batch({"key": pa.array([b"k"]), "value": pa.array([b"v"])})
    assert list(_arguments(chunk, "t")) == [{"topic": "t", "key": b"k", "value": b"v"}]


class Membership:
    """A worker's membership of its group, and a sender that notes the batches it is given."""

    def __init__(self) -> None:
        self.held = True
        self.sent: list[int] = []
        self.dropped = 0

    def sender(
        self, settings: object, over: Callable[[], bool], *_: object, places: bool, statistics: object
    ) -> "Membership":
        self.over = over
        return self

    def send(self, table: pa.Table, topic: str | None, tolerate: object, places: object) -> bool:
        self.sent.append(table.num_rows)
        if table.num_rows == 3:  # the membership ends meanwhile
            self.held = False
        return not self.over()

    def purge(self, in_flight: bool = True) -> None:
        self.dropped += not in_flight

    def serve(self) -> None:
        """Call nothing."""

    close = serve


def test_a_worker_that_is_no_member_of_its_group_sends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Failed: a worker that was frozen for longer than its session sent what it read when it woke."""
    membership = Membership()
    monkeypatch.setattr("connect_dagster.worker.source.at_least_once.RecordSender", membership.sender)
    delivery = opened({}, may_send=lambda: membership.held)
    try:
        delivery.submit(batch(b"a"))
        assert delivery.drain(20)
        membership.held = False
        delivery.submit(batch(b"b", b"c"))
        assert not delivery.drain(20), "it does not wait for what may not be sent"
        time.sleep(0.3)
        assert membership.sent == [1]
        membership.held = True
        assert delivery.drain(20)
        assert membership.sent == [1, 2]
    finally:
        delivery.close()


def test_a_batch_in_which_the_membership_ends_is_not_delivered(monkeypatch: pytest.MonkeyPatch) -> None:
    membership = Membership()
    monkeypatch.setattr("connect_dagster.worker.source.at_least_once.RecordSender", membership.sender)
    delivered: list[str] = []
    delivery = opened({}, may_send=lambda: membership.held)
    try:
        delivery.submit(batch(b"a", b"b", b"c", delivered=lambda: delivered.append("delivered")))
        assert not delivery.drain(20)
        assert (membership.sent, delivered) == ([3], [])
        time.sleep(0.3)
        assert membership.dropped
    finally:
        delivery.close()


def test_a_batch_that_is_given_up_drops_those_after_it_until_the_task_has_gone_back(make: MakeDelivery) -> None:
    delivery, encoded, may_go_on = make(), list[str](), threading.Event()

    def give_up() -> Records:
        may_go_on.wait(10)
        raise BatchGivenUpError

    def note() -> Records:
        encoded.append("later")
        return NOTHING

    for encode in (lambda: NOTHING, give_up, note, note):
        delivery.submit(Batch(encode, "t", lambda _: None))
        may_go_on.set()
    assert delivery.drain(10)
    assert delivery.has_given_up
    assert encoded == []
    delivery.resume()
    delivery.submit(Batch(note, "t", lambda _: None))
    assert delivery.drain(10)
    assert encoded == ["later"]


def test_a_batch_is_encoded_before_the_next_one_is_polled(make: MakeDelivery) -> None:
    delivery, may_go_on = make(), threading.Event()

    def encode() -> Records:
        may_go_on.wait(10)
        return NOTHING

    assert delivery.has_encoded(0), "there is none"
    delivery.submit(Batch(encode, "t", lambda _: None))
    assert not delivery.has_encoded(0.1)
    may_go_on.set()
    assert delivery.has_encoded(10)


class Growing:
    """A batch that takes values until it has three."""

    def __init__(self, *values: bytes) -> None:
        self.values = [*values]

    def absorb(self, later: "Growing") -> bool:
        if len(self.values) + len(later.values) > 3:
            return False
        self.values += later.values
        return True


def test_what_is_submitted_while_a_batch_waits_joins_it(make: MakeDelivery) -> None:
    delivery, may_go_on, encoded = make(), threading.Event(), list[list[bytes]]()

    def submit(*values: bytes, joins: bool = True) -> Growing:
        growing = Growing(*values)

        def encode() -> Records:
            may_go_on.wait(10)
            encoded.append(growing.values)
            return NOTHING

        delivery.submit(Batch(encode, "t", lambda _: None, joinable=growing if joins else None))
        return growing

    submit(b"first")
    while delivery._batches.queue:  # until it is at work
        time.sleep(0.001)
    submit(b"a")
    for value in (b"b", b"c"):
        submit(value)
    full = threading.Thread(target=submit, args=(b"d",))
    full.start()
    may_go_on.set()
    full.join(10)
    assert delivery.has_encoded(10)
    assert encoded == [[b"first"], [b"a", b"b", b"c"], [b"d"]]
    may_go_on.clear()
    submit(b"e")
    while delivery._batches.queue:
        time.sleep(0.001)
    submit(b"f", joins=False)
    blocked = threading.Thread(target=submit, args=(b"g",))
    blocked.start()
    may_go_on.set()
    blocked.join(10)
    assert delivery.has_encoded(10)
    assert encoded[3:] == [[b"e"], [b"f"], [b"g"]]
