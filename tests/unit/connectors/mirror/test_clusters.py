"""Requests to a cluster that are too large for its brokers at once."""

from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from connect_dagster.connectors.mirror.clusters import Alteration, Errors, ForwardingAdmin
from connect_dagster.errors import ConfigError
from connect_dagster.kafka.topic_admin import NewTopic

MOST = 10_000  # Kafka: QuorumController.MAX_RECORDS_PER_USER_OP


class RecordingClient:
    """A client whose requests are all granted."""

    def __init__(self) -> None:
        self.requests: list[Sequence[Any]] = []

    def poll(self, seconds: float) -> None:
        """Nothing to serve."""

    def create_topics(self, topics: Sequence[Any], **_: float) -> dict[str, Future[None]]:
        return {one.topic: self._granted() for one in self._noted(topics)}

    def incremental_alter_configs(self, resources: Sequence[Any], **_: float) -> dict[Any, Future[None]]:
        return {one: self._granted() for one in self._noted(resources)}

    def _noted(self, request: Sequence[Any]) -> Sequence[Any]:
        self.requests.append(request)
        return request

    def _granted(self) -> Future[None]:
        answer: Future[None] = Future()
        answer.set_result(None)
        return answer


class RecordingAdmin(ForwardingAdmin):
    def _open_client(self) -> Any:
        self.client = RecordingClient()
        return self.client


def test_many_topics_are_created_by_several_requests() -> None:
    admin = RecordingAdmin({})
    topics = [NewTopic(f"t{number}", 50, 1, {"retention.ms": "1"}) for number in range(1_000)]
    assert admin.create_topics(topics) == {}
    assert [one.topic for some in admin.client.requests for one in some] == [one.name for one in topics]
    assert all(len(some) * 52 <= MOST for some in admin.client.requests)


def test_a_topic_that_is_too_large_is_asked_for_alone() -> None:
    """The brokers refuse it, and it alone."""
    admin = RecordingAdmin({})
    admin.create_topics([NewTopic(name, count, 1, {}) for name, count in (("a", 1), ("b", 2 * MOST), ("c", 1))])
    assert [[one.topic for one in some] for some in admin.client.requests] == [["a"], ["b"], ["c"]]


def test_many_settings_are_changed_by_several_requests() -> None:
    admin = RecordingAdmin({})
    changes = [Alteration(f"setting.{number}", "1") for number in range(30)]
    admin.alter_topic_settings({f"t{number}": changes for number in range(1_000)} | {"unchanged": []})
    assert sum(len(some) for some in admin.client.requests) == 1_000
    assert all(len(some) * len(changes) <= MOST for some in admin.client.requests)


def test_nothing_is_no_request() -> None:
    admin = RecordingAdmin({})
    assert admin.create_topics([]) == admin.alter_topic_settings({"t": []}) == {}
    assert admin.client.requests == []


class RefusedAdmin(RecordingAdmin):
    """Its login was refused once."""

    def __init__(self) -> None:
        super().__init__({})
        self._refusal = KafkaError(KafkaError._AUTHENTICATION, "wrong password")

    def answered(self, error: KafkaError | None) -> Errors:
        answer: Future[None] = Future()
        if error is None:
            answer.set_result(None)
        else:
            answer.set_exception(KafkaException(error))
        return self._errors([("t", answer)])


def test_a_refused_login_is_the_cause_where_no_broker_responds() -> None:
    """Failed: it took the place of all errors from then on, such as of a topic that exists."""
    admin, away = RefusedAdmin(), KafkaError(KafkaError._TIMED_OUT)
    assert admin.answered(away)["t"].args[0].str() == "wrong password"
    exists = KafkaError(KafkaError.TOPIC_ALREADY_EXISTS)
    assert admin.answered(exists)["t"].args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS
    assert admin.answered(None) == {}
    assert admin.answered(away)["t"].args[0].code() == KafkaError._TIMED_OUT, "the login works again"


def test_a_time_limit_that_is_no_number_is_named() -> None:
    with pytest.raises(ConfigError, match=r"Invalid value soon for configuration default\.api\.timeout\.ms"):
        RecordingAdmin({"default.api.timeout.ms": "soon"})
