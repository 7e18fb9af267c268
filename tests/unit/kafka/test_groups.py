"""Members and offsets of groups by kafka-python's admin client, without brokers."""

import threading
from collections.abc import Iterable
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException
from kafka import TopicPartition
from kafka import errors as kafka_errors
from kafka.admin import MemberToRemove
from kafka.structs import OffsetAndMetadata

from connect_dagster.kafka import groups, python_admin

SETTINGS = {"bootstrap.servers": "127.0.0.1:9"}
AWAY, GONE = kafka_errors.CoordinatorNotAvailableError, kafka_errors.UnknownMemberIdError
REFUSED, LOADING = kafka_errors.GroupAuthorizationFailedError, kafka_errors.CoordinatorLoadInProgressError


class Admin:
    """An admin client whose coordinators give these results in turn: an error, or one for each member."""

    def __init__(self, results: dict[str, list[Any]]) -> None:
        self.results = results
        self.closed = False

    def remove_group_members(self, group: str, members: Iterable[MemberToRemove]) -> dict[str, Any]:
        result = self.results[group].pop(0) if self.results[group] else AWAY()
        if isinstance(result, Exception):
            raise result
        if result is kafka_errors.NoError:
            self.succeeded(group)
        return {member.member_id: result for member in members}

    @staticmethod
    def succeeded(group: str) -> None: ...

    def close(self) -> None:
        self.closed = True


def removed(monkeypatch: pytest.MonkeyPatch, timeout: float = 30, **results: list[Any]) -> dict[str, str]:
    admin = Admin(results)
    monkeypatch.setattr(python_admin, "PythonAdmin", lambda **_: admin)
    monkeypatch.setattr(groups, "RETRY_SECONDS", 0.0)
    errors = groups.remove_members(SETTINGS, {group: ["m"] for group in results}, timeout)
    assert admin.closed
    return errors


@pytest.mark.parametrize(
    ("results", "errors"),
    [
        ([kafka_errors.NoError], {}),
        ([GONE], {}),
        ([AWAY(), LOADING, kafka_errors.KafkaConnectionError(), kafka_errors.NoError], {}),
        ([REFUSED("g")], {"g": "[Error 30] GroupAuthorizationFailedError: g"}),
        ([kafka_errors.FencedInstanceIdError], {"g": "FencedInstanceIdError"}),
    ],
    ids=["removed", "gone already", "the coordinator is away first", "refused", "refused for one member"],
)
def test_removal(monkeypatch: pytest.MonkeyPatch, results: list[Any], errors: dict[str, str]) -> None:
    assert removed(monkeypatch, g=results) == errors


def test_no_group_waits_for_the_coordinator_of_another_one(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    monkeypatch.setattr(Admin, "succeeded", staticmethod(done.append))
    assert removed(monkeypatch, away=[AWAY(), AWAY(), kafka_errors.NoError], there=[kafka_errors.NoError]) == {}
    assert done == ["there", "away"]


def test_a_coordinator_that_stays_away(monkeypatch: pytest.MonkeyPatch) -> None:
    assert removed(monkeypatch, 0.01, g=[]) == {"g": "its coordinator does not respond"}


def test_without_brokers_nothing_stays_open() -> None:
    before = set(threading.enumerate())
    with pytest.raises(KafkaException, match="Unable to bootstrap"):
        groups.remove_members(SETTINGS, {"g": ["m"]}, 0.2)
    for thread in set(threading.enumerate()) - before:
        thread.join(10)
    assert set(threading.enumerate()) <= before


class Coordinator:
    """An admin client that commits with these results in turn, one for each time."""

    def __init__(self, results: list[Any]) -> None:
        self.results = results
        self.committed: list[tuple[str, dict[Any, Any]]] = []

    def alter_group_offsets(self, group: str, offsets: dict[Any, Any]) -> dict[Any, Any]:
        self.committed.append((group, offsets))
        return dict.fromkeys(offsets, self.results.pop(0))

    def close(self) -> None: ...


def commit(monkeypatch: pytest.MonkeyPatch, results: list[Any], timeout: float = 30) -> Coordinator:
    admin = Coordinator(results)
    monkeypatch.setattr(python_admin, "PythonAdmin", lambda **_: admin)
    monkeypatch.setattr(python_admin, "RETRY_SECONDS", 0.0)
    groups.commit_group_offsets(SETTINGS, "g", {("topic", 1): (7, "m")}, timeout)
    return admin


def test_offsets_are_committed_once_there_is_a_coordinator(monkeypatch: pytest.MonkeyPatch) -> None:
    moved, loading = kafka_errors.NotCoordinatorError, kafka_errors.CoordinatorLoadInProgressError
    admin = commit(monkeypatch, [moved, loading, kafka_errors.NoError])
    committed = ("g", {TopicPartition("topic", 1): OffsetAndMetadata(7, "m")})
    assert admin.committed == [committed] * 3


def test_an_offset_that_is_refused_is_no_reason_to_commit_the_others_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A topic that is missing: kafka-python would repeat it."""
    committed: list[str] = []

    class OfAMissingTopic(Coordinator):
        def alter_group_offsets(self, group: str, offsets: dict[Any, Any]) -> dict[Any, Any]:
            committed.append(group)
            return dict(zip(offsets, [kafka_errors.NoError, kafka_errors.UnknownTopicOrPartitionError], strict=True))

    monkeypatch.setattr(python_admin, "PythonAdmin", lambda **_: OfAMissingTopic([]))
    with pytest.raises(KafkaException, match="UNKNOWN_TOPIC_OR_PARTITION for old-0") as raised:
        groups.commit_group_offsets(SETTINGS, "g", {("topic", 1): (7, "m"), ("old", 0): (8, "")}, 30)
    assert raised.value.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART
    assert committed == ["g"]


class Coordinators:
    """An admin client whose coordinators have the offsets of groups, but for some that they refuse or are away for."""

    def __init__(self, errors: dict[str, Exception]) -> None:
        self.errors = errors
        self.requests = 0

    def list_group_offsets(self, groups: list[str]) -> dict[str, Any]:
        self.requests += 1
        for group in groups:
            if group in self.errors:
                raise self.errors[group]
        return {group: {TopicPartition("topic", 0): OffsetAndMetadata(1, None)} for group in groups}

    def close(self) -> None: ...


def test_one_coordinator_that_is_away_hides_no_other_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    admin = Coordinators({"3": AWAY(), "5": REFUSED("5")})
    monkeypatch.setattr(python_admin, "PythonAdmin", lambda **_: admin)
    monkeypatch.setattr(groups, "_OTHERS_SECONDS", 0.0)
    found, errors = groups.fetch_offsets_of_each(SETTINGS, [str(number) for number in range(8)], 30)
    assert found == {number: {("topic", 0): (1, "")} for number in "012467"}
    assert {group: error.args[0].code() for group, error in errors.items()} == {
        "3": KafkaError.COORDINATOR_NOT_AVAILABLE,
        "5": KafkaError.GROUP_AUTHORIZATION_FAILED,
    }
    with pytest.raises(KafkaException):
        groups.fetch_group_offsets(SETTINGS, ["1", "5"], 0.1)


def test_all_groups_of_coordinators_that_respond_are_one_request(monkeypatch: pytest.MonkeyPatch) -> None:
    admin = Coordinators({})
    monkeypatch.setattr(python_admin, "PythonAdmin", lambda **_: admin)
    assert list(groups.fetch_group_offsets(SETTINGS, ["1", "2", "3"], 30)) == ["1", "2", "3"]
    assert admin.requests == 1


@pytest.mark.parametrize(
    ("error", "code"),
    [(GONE, KafkaError.UNKNOWN_MEMBER_ID), (REFUSED, KafkaError.GROUP_AUTHORIZATION_FAILED)],
)
def test_offsets_that_the_coordinator_refuses(monkeypatch: pytest.MonkeyPatch, error: Any, code: int) -> None:
    with pytest.raises(KafkaException) as raised:
        commit(monkeypatch, [error])
    assert raised.value.args[0].code() == code


def test_settings_that_the_admin_client_does_not_have_are_left_out() -> None:
    settings = {**SETTINGS, "socket.connection.setup.timeout.ms": "100", "receive.buffer.bytes": "65536"}
    with pytest.raises(KafkaException, match="Unable to bootstrap"):
        groups.fetch_group_offsets(settings, ["g"], 0.2)
