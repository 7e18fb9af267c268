"""Tokens of a producer of columns: asked for when it opens and before they end; a refusal is one of its errors."""

import time
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import KafkaError

from connect_dagster.errors import ConnectError
from connect_dagster.kafka.column_producer import ColumnProducer
from connect_dagster.kafka.security.oauth_login import ClientTokens, OAuthLogin, RefreshConfig
from connect_dagster.plugin import BearerToken, JwtRetriever

SETTINGS = {"bootstrap.servers": "127.0.0.1:1", "security.protocol": "sasl_plaintext", "sasl.mechanism": "OAUTHBEARER"}
LIFE_SECONDS = 2.0
WAIT_SECONDS = 20.0


class Counter(JwtRetriever):
    """Makes tokens for two seconds, which count up; raises its error instead while it has one."""

    def __init__(self) -> None:
        self.count = 0
        self.error: Exception | None = None
        self.principal = "me"

    def retrieve(self) -> BearerToken:
        if self.error is not None:
            raise self.error
        self.count += 1
        return BearerToken(str(self.count), time.time() + LIFE_SECONDS, self.principal)


@pytest.fixture
def retriever() -> Counter:
    return Counter()


@pytest.fixture
def errors() -> list[KafkaError]:
    return []


@pytest.fixture
def opened(retriever: Counter, errors: list[KafkaError]) -> Iterator[Callable[..., ColumnProducer]]:
    made: list[ColumnProducer] = []

    def make(**extensions: str) -> ColumnProducer:
        tokens = ClientTokens(OAuthLogin(retriever, RefreshConfig.parse({}), extensions=extensions))
        made.append(ColumnProducer(SETTINGS, lambda *_: None, errors.append, tokens=tokens))
        return made[-1]

    yield make
    for one in made:
        one.close()


def served_until(producer: ColumnProducer, done: Callable[[], bool]) -> None:
    ends = time.monotonic() + WAIT_SECONDS
    while not done():
        assert time.monotonic() < ends
        producer.serve(100)


def refusals(errors: list[KafkaError]) -> list[str]:
    return [error.str() for error in errors if error.code() == KafkaError._AUTHENTICATION]


def test_it_opens_with_a_token_and_gets_the_next_before_its_end(
    opened: Callable[..., ColumnProducer], retriever: Counter, errors: list[KafkaError]
) -> None:
    began = time.monotonic()
    producer = opened(tenant="one")
    assert retriever.count == 1
    served_until(producer, lambda: retriever.count == 3)
    assert time.monotonic() - began > LIFE_SECONDS, "not more often than needed"
    assert not refusals(errors)


def test_a_login_that_fails_later_is_an_error_of_the_producer(
    opened: Callable[..., ColumnProducer], retriever: Counter, errors: list[KafkaError]
) -> None:
    producer = opened()
    retriever.error = ConnectError("The token endpoint responds with 401: invalid_client")
    # The last token may end while it is passed on again, which librdkafka has words of its own for.
    served_until(producer, lambda: any("responds with 401: invalid_client" in text for text in refusals(errors)))


def test_extensions_that_librdkafka_does_not_take_are_an_error(
    opened: Callable[..., ColumnProducer], errors: list[KafkaError]
) -> None:
    producer = opened(tenant1="digits are not letters")
    served_until(producer, lambda: bool(refusals(errors)))
    assert "extension keys must only consist of A-Z or a-z characters: tenant1" in refusals(errors)[0]
