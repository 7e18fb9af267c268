"""Every kind of client with tokens of every origin, on a broker that takes tokens only."""

import importlib.metadata
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import pytest
from confluent_kafka import KafkaException
from pyspark.sql import SparkSession

from connect_dagster.errors import ConfigError, ConnectError
from connect_dagster.kafka import clients
from connect_dagster.kafka.column_producer import ColumnProducer, LazyColumnProducer
from connect_dagster.kafka.groups import fetch_group_offsets
from connect_dagster.kafka.security.jwt_retrievers import GROUP
from connect_dagster.kafka.transactional_producer import TransactionalProducer, TransactionFailedError
from connect_dagster.plugin import JwtRetriever
from tests.authorization_server import AuthorizationServer
from tests.integration import topics
from tests.integration.kafka.both_libraries import assert_both_libraries_log_in
from tests.integration.worker.test_oauth_brokers import TokenBroker, token_broker

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(600)]

ENDPOINT, JAAS = "sasl.oauthbearer.token.endpoint.url", "sasl.jaas.config"
MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"
ORIGINS = ("secret", "file", "class")
SECONDS = 60.0
ROWS = 1_000
TABLE = pa.table({"value": pa.array([b"%d" % row for row in range(ROWS)], pa.binary())})


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
    assert_both_libraries_log_in(logins[origin], topic_prefix, SECONDS)


def column_producer(settings: dict[str, str]) -> ColumnProducer:
    found = LazyColumnProducer(settings, {}, lambda *_: None, lambda _: None).get()
    assert found is not None
    return found


def transactional(settings: dict[str, str], id: str) -> TransactionalProducer:
    ends = time.monotonic() + SECONDS
    made = clients.transactional_settings(settings, id)
    return TransactionalProducer(made, lambda: time.monotonic() > ends)


@pytest.mark.parametrize("origin", ORIGINS)
def test_producers_of_columns_log_in(logins: dict[str, dict[str, str]], origin: str, topic_prefix: str) -> None:
    """Without and with transactions."""
    settings, topic = logins[origin], f"{topic_prefix}t"
    columns = column_producer(settings)
    assert not list(columns.produce(TABLE, topic, lambda: False))
    assert columns.flush(SECONDS)
    columns.close()
    producer = transactional(settings, f"{topic_prefix}id")
    producer.init()
    for commits in (True, False):
        producer.begin()
        producer.send(TABLE, topic)
        if commits:
            producer.commit()
    producer.close()
    reader = {**settings, "group.id": f"{topic_prefix}g", "auto.offset.reset": "earliest"}
    consumer = clients.consumer({**reader, "isolation.level": "read_committed"}, {"enable.partition.eof": True})
    consumer.subscribe([topic])
    values: list[bytes | None] = []
    while (found := consumer.poll(SECONDS)) is not None and not found.error():
        values.append(found.value())
    consumer.close()
    assert values == TABLE.column("value").to_pylist() * 2


@pytest.mark.timeout(120)
def test_a_producer_of_columns_writes_on_when_its_tokens_end(
    tokens: TokenBroker, logins: dict[str, dict[str, str]], topic_prefix: str
) -> None:
    settings = {**logins["secret"], "sasl.oauthbearer.scope": topic_prefix}  # a login of its own
    tokens.server.seconds = 4.0
    tokens.server.requests.clear()
    try:
        producer = transactional(settings, f"{topic_prefix}id")
        producer.init()
        began = time.monotonic()
        count = 0
        while time.monotonic() - began < 15:
            producer.begin()
            producer.send(TABLE.slice(0, 1), f"{topic_prefix}t")
            producer.commit()
            count += 1
            time.sleep(0.5)
        producer.close()
    finally:
        tokens.server.seconds = 3600.0
    own = [request for request in tokens.server.requests if request.get("scope") == topic_prefix]
    assert 4 <= len(own) <= 8
    read = topics.read_topic(tokens.broker.bootstrap_servers, f"{topic_prefix}t", count)
    assert [one.value() for one in read] == [b"0"] * count


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
    producer = transactional(settings, "refused")
    with pytest.raises(TransactionFailedError, match=r"no access to the brokers: .*invalid_token"):
        producer.init()
    producer.close()


def test_an_endpoint_that_is_away_is_an_error_that_may_pass(logins: dict[str, dict[str, str]]) -> None:
    settings = {**logins["secret"], ENDPOINT: "http://127.0.0.1:1/token", "sasl.login.retry.backoff.max.ms": "0"}
    with pytest.raises(KafkaException, match=r"The token endpoint http://127\.0\.0\.1:1/token does not respond"):
        clients.admin(settings)
    with pytest.raises(KafkaException):
        fetch_group_offsets(settings, ["g"], 5.0)
    with pytest.raises(ConnectError, match=r"The producer of away cannot log in: .* does not respond"):
        transactional(settings, "away")


def test_a_wrong_secret_is_an_error_of_both_libraries(tokens: TokenBroker, logins: dict[str, dict[str, str]]) -> None:
    settings = {**logins["secret"], **tokens.server.login("wrong")}
    for ask in (lambda: clients.admin(settings), lambda: fetch_group_offsets(settings, ["g"], SECONDS)):
        with pytest.raises(ConfigError, match="responds with 401: invalid_client Wrong name or secret"):
            ask()
    text = "The producer of wrong cannot log in: .* responds with 401: invalid_client Wrong name or secret"
    with pytest.raises(ConnectError, match=text):
        transactional(settings, "wrong")
