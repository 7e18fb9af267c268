import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import dagster as dg
import pytest

from connect_dagster.client.access import Access
from connect_dagster.client.rest_client import KafkaConnectClient, KafkaConnectError, RetryPolicy
from connect_dagster.embedded.ports import free_port
from connect_dagster.orchestration import KafkaConnectWorkspace, build_kafka_connect_polling_sensor
from tests.unit.orchestration.connect_server import connect_server


def test_retries_wait_twice_as_long_each_time() -> None:
    assert RetryPolicy(retries=4, delay=0.25).delays() == [0.25, 0.5, 1.0, 2.0]
    assert RetryPolicy(retries=3, delay=1, backoff_factor=1.5).delays() == [1.0, 1.5, 2.25]
    assert RetryPolicy(retries=2, delay=1, backoff_factor=1).delays() == [1.0, 1.0]


def test_a_port_where_nobody_listens_is_one_clear_sentence() -> None:
    url = f"http://127.0.0.1:{free_port()}"
    client = KafkaConnectClient(url, retry=RetryPolicy(retries=1, delay=0.01))
    assert not client.is_alive()
    with pytest.raises(KafkaConnectError, match=f"^No Kafka Connect worker responds at {url}: ") as error:
        client.connectors()
    assert (error.value.status, error.value.retriable) == (None, True)


def test_an_error_is_a_response_and_a_closed_port_is_not() -> None:
    assert not KafkaConnectClient(f"http://127.0.0.1:{free_port()}").responds()
    with connect_server() as server, pytest.MonkeyPatch.context() as patch:
        patch.setattr(server.herder, "server_info", lambda: 1 / 0)
        client = server.workspace.get_client()
        assert (client.is_alive(), client.responds()) == (False, True)


def test_another_server_at_the_address_is_recognised() -> None:
    with (
        serving_text("hello") as url,
        pytest.raises(KafkaConnectError, match=r"did not return JSON: is this Kafka Connect\?"),
    ):
        KafkaConnectClient(url).server_info()


def test_a_cluster_that_rebalances_is_waited_for() -> None:
    with connect_server() as server:
        server.create("lines")
        client = KafkaConnectClient(server.workspace.url, retry=RetryPolicy(retries=0, rebalance=30))
        client.stop("lines")
        server.herder.rebalancing = 2
        assert client.reset_offsets("lines")
        assert server.herder.rebalancing == 0
        server.herder.rebalancing = 1
        impatient = KafkaConnectClient(server.workspace.url, retry=RetryPolicy(retries=0, rebalance=0))
        with pytest.raises(KafkaConnectError, match="→ 409: "):
            impatient.reset_offsets("lines")


def test_a_connector_that_exists_is_no_reason_to_wait() -> None:
    with connect_server() as server:
        server.create("lines")
        client = KafkaConnectClient(server.workspace.url, retry=RetryPolicy(retries=3, delay=60, rebalance=60))
        with pytest.raises(KafkaConnectError, match="Connector lines already exists") as error:
            client.create({"name": "lines", "connector.class": "FileStreamSource"}, "RUNNING")
        assert not error.value.retriable


@pytest.mark.parametrize(
    "answer", ["{}", "[]", "null", '{"lines": []}', '{"lines": {"status": {"password": "kafka123"}, "info": 1}}']
)
def test_json_of_another_shape_is_one_sentence_without_its_content(answer: str) -> None:
    with serving_text(answer) as url:
        client = KafkaConnectClient(url.replace("://", "://ann:geheim99@"))
        asked: list[Callable[[], object]] = [
            lambda: client.status("lines"),
            lambda: client.info("lines"),
            lambda: client.offsets("lines"),
            lambda: client.active_topics("lines"),
            client.server_info,
        ]
        for ask in asked:
            with pytest.raises(KafkaConnectError, match="that Kafka Connect would not write: is this Kafka") as error:
                ask()
            assert not {"kafka123", "geheim99"} & set(str(error.value).replace(":", " ").replace("@", " ").split())


def test_a_connector_that_is_deleted_meanwhile_is_left_out() -> None:
    """Java answers so: the list is older than its entries."""
    with serving_text('{"gone": {"status": null, "info": null}}') as url:
        assert KafkaConnectClient(url).connectors() == {}


def test_a_partition_that_was_just_reset_has_no_offset() -> None:
    """Java lists its partitions before it has read the tombstones of a reset, and then finds no offset."""
    partitions = [
        {"partition": {"filename": name}, "offset": offset} for name, offset in (("a", None), ("b", {"n": 1}))
    ]
    with serving_text(json.dumps({"offsets": partitions})) as url:
        assert [entry.partition for entry in KafkaConnectClient(url).offsets("lines")] == [{"filename": "b"}]


def test_a_ca_that_is_not_there_is_named() -> None:
    client = KafkaConnectClient("https://127.0.0.1:1", access=Access(ca_file="/no/such/ca.pem"))
    assert not client.is_alive()
    with pytest.raises(KafkaConnectError, match=r"/no/such/ca\.pem"):
        client.connectors()


def test_variables_of_a_workspace_that_are_not_set_are_named() -> None:
    workspace = KafkaConnectWorkspace(url=dg.EnvVar("NO_SUCH_URL"))
    sentence = r"needs environment variables that are not set: NO_SUCH_URL \(for url\)"
    with pytest.raises(KafkaConnectError, match=sentence), workspace.initialized():
        pass
    sensor = build_kafka_connect_polling_sensor(workspace=workspace)
    with dg.DagsterInstance.ephemeral() as instance, dg.build_sensor_context(instance=instance) as context:
        skipped = sensor.evaluate_tick(context).skip_message
    assert skipped is not None
    assert "NO_SUCH_URL (for url)" in skipped


@contextmanager
def serving_text(text: str) -> Iterator[str]:
    """The address of a web server that always answers the same."""
    handler = type("Server", (HelloServer,), {"text": text})
    with HTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


class HelloServer(BaseHTTPRequestHandler):
    """A web server that is no Connect worker."""

    text = "hello"

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.text.encode())

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the test's output stays clean."""
