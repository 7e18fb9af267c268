"""Every kind of client with tokens of every origin, on a broker that takes tokens only."""

import importlib.metadata
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from confluent_kafka import KafkaException
from pyspark.sql import SparkSession

from connect_dagster.errors import ConfigError
from connect_dagster.kafka import clients
from connect_dagster.kafka.access import Brokers
from connect_dagster.kafka.groups import commit_group_offsets, fetch_group_offsets
from connect_dagster.kafka.security.jwt_retrievers import GROUP
from connect_dagster.orchestration.observations.topic_offsets import fetch_topic_bounds
from connect_dagster.plugin import JwtRetriever
from tests.authorization_server import AuthorizationServer
from tests.integration.worker.test_oauth_brokers import TokenBroker, token_broker

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(600)]

ENDPOINT, JAAS = "sasl.oauthbearer.token.endpoint.url", "sasl.jaas.config"
MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"
ORIGINS = ("secret", "file", "class")
SECONDS = 60.0


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TokenBroker]:
    with token_broker(tmp_path_factory.mktemp("tokens") / "broker") as made:
        yield made


class FromServer(JwtRetriever):
    """A user's class."""

    server: AuthorizationServer

    def configure(self, config: Mapping[str, str], options: Mapping[str, str]) -> None:
        self.subject = options["subject"]

    def retrieve(self) -> str:
        return self.server.token(self.subject)


@pytest.fixture(scope="module")
def logins(tokens: TokenBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, dict[str, str]]]:
    """Client settings by origin."""
    file = tmp_path_factory.mktemp("file") / "token"
    file.write_text(f"{tokens.server.token()}\n")
    FromServer.server = tokens.server
    point = importlib.metadata.EntryPoint("Server", f"{__name__}:FromServer", GROUP)
    common = {"bootstrap.servers": tokens.servers, "security.protocol": "SASL_PLAINTEXT"}
    common["sasl.mechanism"] = "OAUTHBEARER"
    own = {"sasl.oauthbearer.jwt.retriever.class": "Server", JAAS: f'{MODULE} subject="me";'}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(importlib.metadata, "entry_points", lambda group: [point] if group == GROUP else [])
        patch.setitem(sys.modules, __name__, sys.modules[FromServer.__module__])
        yield {
            "secret": {**common, **tokens.server.login()},
            "file": {**common, ENDPOINT: file.as_uri(), JAAS: f"{MODULE};"},
            "class": {**common, **own},
        }


@pytest.mark.parametrize("origin", ORIGINS)
def test_both_libraries_log_in(logins: dict[str, dict[str, str]], origin: str, topic_prefix: str) -> None:
    """librdkafka's producer, consumer and admin client, and kafka-python's, which asks for offsets of groups."""
    settings, topic = logins[origin], f"{topic_prefix}t"
    producer = clients.producer(settings)
    producer.produce(topic, b"one")
    assert producer.flush(SECONDS) == 0
    consumer = clients.consumer({**settings, "group.id": f"{topic_prefix}g", "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    found = consumer.poll(SECONDS)
    assert found is not None
    assert found.value() == b"one"
    consumer.close()
    commit_group_offsets(settings, f"{topic_prefix}other", {(topic, 0): (1, "")}, SECONDS)
    assert fetch_group_offsets(settings, [f"{topic_prefix}other"], SECONDS) == {
        f"{topic_prefix}other": {(topic, 0): (1, "")}
    }
    bounds = fetch_topic_bounds(Brokers(settings["bootstrap.servers"], settings), [topic], SECONDS)
    assert [one.end for one in bounds.values()] == [1], "as Dagster's sensors ask"


@pytest.mark.parametrize("origin", ORIGINS)
def test_sparks_client_logs_in(
    logins: dict[str, dict[str, str]], origin: str, topic_prefix: str, spark: SparkSession
) -> None:
    settings, topic = logins[origin], f"{topic_prefix}t"
    producer = clients.producer(settings)
    producer.produce(topic, b"one")
    assert producer.flush(SECONDS) == 0
    options = clients.spark_options(settings)
    rows = spark.read.format("kafka").options(**options).option("subscribe", topic).load().collect()
    assert [bytes(row.value) for row in rows] == [b"one"]


def test_a_token_that_the_brokers_refuse_is_an_error_of_both_libraries(
    tokens: TokenBroker, logins: dict[str, dict[str, str]], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "token").write_text(tokens.server.token(aud="others"))
    settings = {**logins["file"], ENDPOINT: (tmp_path / "token").as_uri()}
    with pytest.raises(KafkaException):
        fetch_group_offsets(settings, ["g"], 10.0)
    assert 'The brokers refuse the token: {"status":"invalid_token"}' in caplog.text
    refused = []
    admin = clients.admin(settings, {"error_cb": lambda error: refused.append(clients.refusal("me", error))})
    with pytest.raises(KafkaException):
        admin.list_topics(timeout=10)
    admin.poll(1)
    assert any("The brokers refuse client me" in str(one) for one in refused)


def test_an_endpoint_that_is_away_is_an_error_that_may_pass(logins: dict[str, dict[str, str]]) -> None:
    settings = {**logins["secret"], ENDPOINT: "http://127.0.0.1:1/token", "sasl.login.retry.backoff.max.ms": "0"}
    with pytest.raises(KafkaException, match=r"The token endpoint http://127\.0\.0\.1:1/token does not respond"):
        clients.admin(settings)
    with pytest.raises(KafkaException):
        fetch_group_offsets(settings, ["g"], 5.0)


def test_a_wrong_secret_is_an_error_of_both_libraries(tokens: TokenBroker, logins: dict[str, dict[str, str]]) -> None:
    settings = {**logins["secret"], **tokens.server.login("wrong")}
    for ask in (lambda: clients.admin(settings), lambda: fetch_group_offsets(settings, ["g"], SECONDS)):
        with pytest.raises(ConfigError, match="responds with 401: invalid_client Wrong name or secret"):
            ask()
