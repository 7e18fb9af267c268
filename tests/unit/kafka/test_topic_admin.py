"""The one creator of topics: results, errors and retries, without brokers."""

import logging
from collections.abc import Sequence
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Uuid, cimpl

from connect_dagster.errors import ConnectError
from connect_dagster.kafka import clients
from connect_dagster.kafka.topic_admin import NewTopic, TopicAdmin

TOPIC = NewTopic("t", 3, 1, {"cleanup.policy": "compact"})


class Answers:
    """An admin client whose brokers answer each creation with the next error, or with success."""

    def __init__(self, errors: Sequence[KafkaError | None]) -> None:
        self.errors = list(errors)
        self.created: list[tuple[str, int, int, dict[str, str]]] = []

    def poll(self, seconds: float) -> int:
        return 0

    def create_topics(self, topics: list[cimpl.NewTopic], **_: Any) -> dict[str, Future[None]]:
        (new,) = topics
        self.created.append((new.topic, new.num_partitions, new.replication_factor, dict(new.config or {})))
        error, future = self.errors.pop(0), Future[None]()
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(KafkaException(error))
        return {new.topic: future}


def admin(monkeypatch: pytest.MonkeyPatch, *errors: KafkaError | None, **settings: str) -> tuple[TopicAdmin, Answers]:
    answers = Answers(errors)
    monkeypatch.setattr(clients, "admin", lambda *_: answers)
    given = {name.replace("_", "."): value for name, value in settings.items()}
    return TopicAdmin({"bootstrap.servers": "b:1", "client.id": "a", **given}), answers


@pytest.mark.parametrize(
    ("error", "result"),
    [
        (None, True),
        (KafkaError(KafkaError.TOPIC_ALREADY_EXISTS), False),
        (KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED), None),
        (KafkaError(KafkaError.CLUSTER_AUTHORIZATION_FAILED), None),
        (KafkaError(KafkaError.UNSUPPORTED_VERSION), None),
    ],
)
def test_results(monkeypatch: pytest.MonkeyPatch, error: KafkaError | None, result: bool | None) -> None:
    topics, answers = admin(monkeypatch, error)
    assert topics.create(TOPIC) is result
    assert answers.created == [("t", 3, 1, {"cleanup.policy": "compact"})]


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (KafkaError(KafkaError.INVALID_CONFIG, "no such key"), r"^Unable to create topic\(s\) 't': no such key$"),
        (KafkaError(KafkaError._TIMED_OUT), r"^Timed out while checking for or creating topic\(s\) 't'\. "),
        (KafkaError(KafkaError.POLICY_VIOLATION, "no"), r"^Error while attempting to create/find topic\(s\) 't': no$"),
    ],
)
def test_errors(monkeypatch: pytest.MonkeyPatch, error: KafkaError, text: str) -> None:
    topics, _ = admin(monkeypatch, error)
    with pytest.raises(ConnectError, match=text):
        topics.create(TOPIC)


def test_missing_brokers_are_waited_for(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr("connect_dagster.kafka.topic_admin._CREATE_BACKOFF_SECONDS", 0.0)
    missing = KafkaError(KafkaError.INVALID_REPLICATION_FACTOR, "too few brokers")
    topics, answers = admin(monkeypatch, missing, missing, None)
    with caplog.at_level(logging.WARNING):
        assert topics.create_with_retry(TOPIC) is True
    assert len(answers.created) == 3
    (warning,) = caplog.messages
    assert warning.startswith("'t' topic creation failed due to 'too few brokers', retrying, ")


@pytest.mark.parametrize("end", ["time limit", "stop", "error"])
def test_a_wait_ends(monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    code = KafkaError.POLICY_VIOLATION if end == "error" else KafkaError.INVALID_REPLICATION_FACTOR
    limit = "0" if end == "time limit" else "60000"
    topics, answers = admin(monkeypatch, KafkaError(code), default_api_timeout_ms=limit)
    if end == "stop":
        topics.stop()
    with pytest.raises(ConnectError, match=r"^Error while attempting to create/find topic\(s\) 't': "):
        topics.create_with_retry(TOPIC)
    assert len(answers.created) == 1


def test_a_refused_login_ends_the_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    topics, answers = admin(monkeypatch, KafkaError(KafkaError._TRANSPORT))
    refusal = KafkaError(KafkaError._AUTHENTICATION, "wrong password")
    monkeypatch.setattr(answers, "poll", lambda _: topics._refused(refusal) if answers.created else None)
    with pytest.raises(ConnectError, match=r"^The brokers refuse client a: wrong password$"):
        topics.create_with_retry(TOPIC)
    assert len(answers.created) == 1


def test_an_id_is_as_kafka_shows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails at 1f0d1e0: with / and + of librdkafka's alphabet."""
    topics, answers = admin(monkeypatch)
    future = Future[SimpleNamespace]()
    future.set_result(SimpleNamespace(topic_id=Uuid(-1, -5)))
    monkeypatch.setattr(answers, "describe_topics", lambda *_, **__: {"t": future}, raising=False)
    assert topics.ids(["t"], 1) == {"t": "____________________-w"}


def test_ids_leave_out_missing_topics_and_brokers_without_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    topics, answers = admin(monkeypatch)

    def describe_topics(names: Any, **_: Any) -> dict[str, Future[Any]]:
        futures: dict[str, Future[Any]] = {name: Future() for name in names.topic_names}
        futures["known"].set_result(SimpleNamespace(topic_id="EYKo7kqiQ82dqZWUsH5wyw"))
        futures["of an old broker"].set_result(SimpleNamespace(topic_id="AAAAAAAAAAAAAAAAAAAAAA"))
        futures["missing"].set_exception(KafkaException(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)))
        return futures

    monkeypatch.setattr(answers, "describe_topics", describe_topics, raising=False)
    assert topics.ids(["known", "of an old broker", "missing"], 1) == {"known": "EYKo7kqiQ82dqZWUsH5wyw"}
    assert topics.ids([], 1) == {}
