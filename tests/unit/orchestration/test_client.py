from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

from connect_dagster.embedded.ports import free_port
from connect_dagster.orchestration.client import KafkaConnectClient, KafkaConnectError, RetryPolicy


def test_retries_wait_twice_as_long_each_time() -> None:
    assert RetryPolicy(retries=4, delay=0.25).delays() == [0.25, 0.5, 1.0, 2.0]


def test_a_port_where_nobody_listens_is_one_clear_sentence() -> None:
    url = f"http://127.0.0.1:{free_port()}"
    client = KafkaConnectClient(url, retry=RetryPolicy(retries=1, delay=0.01))
    assert not client.is_alive()
    with pytest.raises(KafkaConnectError, match=f"^No Kafka Connect worker answers at {url}: ") as error:
        client.connectors()
    assert (error.value.status, error.value.retriable) == (None, True)


def test_another_server_at_the_address_is_recognised() -> None:
    with HTTPServer(("127.0.0.1", 0), HelloServer) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        try:
            with pytest.raises(KafkaConnectError, match=r"did not answer with JSON: is this Kafka Connect\?"):
                KafkaConnectClient(url).server_info()
        finally:
            server.shutdown()


class HelloServer(BaseHTTPRequestHandler):
    """A web server that is no Connect worker."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the test's output stays clean."""
