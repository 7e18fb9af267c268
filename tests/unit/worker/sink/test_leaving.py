"""How sinks leave their groups while the brokers are away. No brokers."""

import logging
import threading
from collections.abc import Mapping
from typing import Any, cast

import pytest
from confluent_kafka import KafkaError, KafkaException

from connect_dagster.errors import ConfigError
from connect_dagster.kafka import clients
from connect_dagster.kafka.settings.java_settings import Settings
from connect_dagster.plugin.records import TopicPartition
from connect_dagster.worker.sink import consumer as sink_consumer
from connect_dagster.worker.sink.consumer import RebalanceListener, SinkConsumer
from connect_dagster.worker.sink.departures import Departures, Members

SETTINGS = {"bootstrap.servers": "b:9092", "client.id": "c", "group.id": "connect-s", "security.protocol": "PLAINTEXT"}
AWAY = (KafkaError._WAIT_COORD, KafkaError._TRANSPORT, KafkaError._TIMED_OUT)


class Client:
    """librdkafka's consumer, whose coordinator responds with this error code, or with none."""

    def __init__(self, member_id: str | None, error: int | None = None) -> None:
        self.member_id = member_id
        self.error = error
        self.calls: list[str] = []
        self.closed = threading.Event()

    def subscribe(self, *_: Any, **__: Any) -> None: ...

    def poll(self, seconds: float) -> None: ...

    def memberid(self) -> str | None:
        return self.member_id

    def committed(self, partitions: list[Any], timeout: float) -> list[Any]:
        self.calls.append("committed")
        if self.error is not None:
            raise KafkaException(KafkaError(self.error))
        return partitions

    def close(self) -> None:
        self.calls.append("close")
        self.closed.set()


class Leavers:
    """Members that are to be removed."""

    def __init__(self) -> None:
        self.members: list[tuple[str, str]] = []

    def add(self, consumer: Settings, member_id: str) -> None:
        self.members.append((consumer["group.id"], member_id))


def joined(monkeypatch: pytest.MonkeyPatch, client: Client, **more: str) -> tuple[SinkConsumer, Leavers]:
    leavers = Leavers()
    monkeypatch.setattr(clients, "consumer", lambda *_: client)
    monkeypatch.setattr(sink_consumer, "_MEMBER_SECONDS", 0.0)
    settings = SETTINGS | {name.replace("_", "."): value for name, value in more.items()}
    listener = RebalanceListener(*[lambda _: None] * 3)
    return SinkConsumer(
        settings, ["t"], None, listener, lambda: pytest.fail("not asked"), cast("Departures", leavers), headers=False
    ), leavers


@pytest.mark.parametrize("error", [None, KafkaError.GROUP_AUTHORIZATION_FAILED])
def test_a_member_whose_coordinator_responds_leaves_itself(monkeypatch: pytest.MonkeyPatch, error: int | None) -> None:
    client = Client("m1", error)
    consumer, leavers = joined(monkeypatch, client)
    consumer.close()
    consumer.close()
    assert (client.calls, leavers.members) == (["committed", "close"], [])


def test_a_member_whose_topics_are_gone_leaves_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails at fa6cb2e: IndexError, after which nothing closed the client, when a pattern matched no topic any more."""
    client = Client("m1")
    consumer, _ = joined(monkeypatch, client)
    consumer._topics = []
    consumer.close()
    assert client.calls == ["close"]


@pytest.mark.parametrize("error", AWAY)
def test_a_member_that_cannot_leave_is_removed_later(monkeypatch: pytest.MonkeyPatch, error: int) -> None:
    """Fails at 1f0d1e0: the next member waited for the session, 45 s after the brokers were back."""
    client = Client("m1", error)
    consumer, leavers = joined(monkeypatch, client)
    consumer.close()
    assert client.closed.wait(30)
    assert (client.calls, leavers.members) == (["committed", "close"], [("connect-s", "m1")])


def test_a_client_that_waits_for_its_coordinator_does_not_hold_up_the_task(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails at 1f0d1e0: librdkafka waits for five seconds, which is all that a task may take to stop."""
    client, ended = Client("m1", KafkaError._TIMED_OUT), threading.Event()
    monkeypatch.setattr(client, "close", ended.wait)
    consumer, _ = joined(monkeypatch, client)
    consumer.close()
    ended.set()


@pytest.mark.parametrize("member_id", [None, ""])
def test_a_consumer_that_has_not_joined_has_nothing_to_leave(
    monkeypatch: pytest.MonkeyPatch, member_id: str | None
) -> None:
    client = Client(member_id, KafkaError._WAIT_COORD)
    consumer, leavers = joined(monkeypatch, client)
    consumer.close()
    assert (client.calls, leavers.members) == (["close"], [])


@pytest.mark.parametrize("next_id", ["", "m2"], ids=["not joined again", "joined again"])
def test_a_member_id_that_the_client_has_dropped_is_removed(monkeypatch: pytest.MonkeyPatch, next_id: str) -> None:
    """Fails at 1f0d1e0: after an outage longer than its session a sink waited for another session of its own."""
    client = Client("m1")
    consumer, leavers = joined(monkeypatch, client)
    consumer.poll()
    consumer.poll()
    assert leavers.members == []
    client.member_id = next_id
    consumer.poll()
    consumer.poll()
    consumer.close()
    assert leavers.members == [("connect-s", "m1")]


def test_a_member_of_the_user_stays_for_its_session(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client("m1", KafkaError._WAIT_COORD)
    consumer, leavers = joined(monkeypatch, client, group_instance_id="mine")
    consumer.close()
    assert leavers.members == []


def test_a_commit_of_an_abandoned_task_fails_as_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails at 1f0d1e0: with librdkafka's RuntimeError, for which the task did not close its partitions."""
    consumer, _ = joined(monkeypatch, Client("m1"))
    consumer.abandon()
    with pytest.raises(KafkaException, match="The consumer is closed"):
        consumer.commit_now({TopicPartition("t", 0): 1})


class Groups:
    """Groups of one cluster; what removes members waits until the brokers are back."""

    def __init__(self, errors: Mapping[str, str] | None = None, failure: Exception | None = None) -> None:
        self.errors = errors or {}
        self.failure = failure
        self.back = threading.Event()
        self.requests: list[tuple[dict[str, str], dict[str, set[str]]]] = []

    def remove(self, settings: Settings, members: Members, seconds: float) -> Mapping[str, str]:
        self.requests.append((dict(settings), {group: set(ids) for group, ids in members.items()}))
        assert self.back.wait(30)
        if self.failure is not None:
            raise self.failure
        return self.errors


def removed(groups: Groups, *members: tuple[dict[str, str], str]) -> None:
    departures = Departures(groups.remove)
    before = set(threading.enumerate())
    for settings, member_id in members:
        departures.add(settings, member_id)
    threads = set(threading.enumerate()) - before
    groups.back.set()
    for thread in threads:
        assert thread.daemon
        thread.join(30)
        assert not thread.is_alive()
    assert departures._left == {}


def test_members_are_removed_with_the_access_of_their_consumers() -> None:
    groups = Groups()
    another = {**SETTINGS, "client.id": "d", "group.id": "connect-u"}
    elsewhere = {**SETTINGS, "bootstrap.servers": "else:9092"}
    removed(groups, (SETTINGS, "m1"), (SETTINGS, "m2"), (another, "m3"), (elsewhere, "m4"))
    access = {"bootstrap.servers": "b:9092", "security.protocol": "PLAINTEXT"}
    found = [(settings["bootstrap.servers"], members) for settings, members in groups.requests]
    assert all(settings.keys() == access.keys() for settings, _ in groups.requests)
    taken: dict[str, set[str]] = {}
    for bootstrap, members in found:
        for group, ids in members.items():
            taken.setdefault(f"{bootstrap} {group}", set()).update(ids)
    assert taken == {
        "b:9092 connect-s": {"m1", "m2"},
        "b:9092 connect-u": {"m3"},
        "else:9092 connect-s": {"m4"},
    }


def test_an_unexpected_error_does_not_end_the_removal_of_later_members() -> None:
    """Fails at fa6cb2e: the thread ended, and no member with the same access was removed any more."""
    removed(Groups(failure=ValueError("unforeseen")), (SETTINGS, "m1"))


@pytest.mark.parametrize(
    ("groups", "text"),
    [
        (Groups(), "Removed members of group connect-s that could not leave it while its coordinator was away: m1"),
        (Groups({"connect-s": "GroupAuthorizationFailedError"}), "could not leave it: m1 (GroupAuthorizationFailed"),
        (
            Groups(failure=KafkaException(KafkaError(KafkaError._FAIL, "Unable to bootstrap"))),
            "m1 (Unable to bootstrap",
        ),
        (Groups(failure=ConfigError("no such login")), "could not leave it: m1 (no such login)"),
    ],
    ids=["removed", "refused", "no brokers", "no such login"],
)
def test_the_end_of_each_member_is_logged(groups: Groups, text: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        removed(groups, (SETTINGS, "m1"))
    assert text in caplog.text
