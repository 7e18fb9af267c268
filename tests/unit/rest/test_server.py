"""The server with real sockets: binding, several listeners, stopping, its log lines."""

import logging
import re
import socket
import threading
import time
from collections.abc import Iterator

import pytest
import requests

from connect_dagster.errors import ConnectError
from connect_dagster.herder.interface import ServerInfo
from connect_dagster.rest.server import RestServer
from tests.unit.rest.memory_herder import MemoryHerder
from tests.unit.rest.serving import LOCAL, rest_server

ACCESS = re.compile(
    r"127\.0\.0\.1 - - \[\d\d/\w{3}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}\] "
    r'"GET /connectors\?a=b HTTP/1\.1" 200 5 "" "me" \d+'
)


@pytest.fixture
def server() -> Iterator[RestServer]:
    server = rest_server(LOCAL, LOCAL)
    server.bind()
    yield server
    server.stop(1)


def test_all_listeners_answer_and_the_first_is_advertised(server: RestServer, herder: MemoryHerder) -> None:
    server.start(herder)
    first, second = server.ports
    assert server.advertised_url == f"http://127.0.0.1:{first}/"
    assert server.worker_id == f"127.0.0.1:{first}"
    assert [requests.get(f"http://127.0.0.1:{port}/connectors", timeout=5).json() for port in (first, second)] == [
        ["c"]
    ] * 2


def test_answers_on_a_kept_connection_do_not_wait_for_confirmations(server: RestServer, herder: MemoryHerder) -> None:
    server.start(herder)
    with requests.Session() as session:
        took = []
        for _ in range(20):
            began = time.monotonic()
            assert session.get(f"{server.advertised_url}connectors", timeout=5).status_code == 200
            took.append(time.monotonic() - began)
    assert sorted(took)[5] < 0.03  # a delayed confirmation takes 0.04 s


def test_headers_are_few(server: RestServer, herder: MemoryHerder) -> None:
    server.start(herder)
    answer = requests.get(f"{server.advertised_url}connectors", timeout=5)
    assert sorted(answer.headers) == ["content-length", "content-type", "date"]
    assert answer.headers["content-type"] == "application/json"


def test_clients_that_came_before_the_start_are_answered(server: RestServer, herder: MemoryHerder) -> None:
    statuses: list[int] = []
    early = threading.Thread(
        target=lambda: statuses.append(requests.get(server.advertised_url, timeout=10).status_code)
    )
    early.start()
    server.start(herder)
    early.join(10)
    assert statuses == [200]


def test_clients_that_ask_and_leave_are_not_answered(
    server: RestServer, herder: MemoryHerder, caplog: pytest.LogCaptureFixture
) -> None:
    """Failed: each of thousands took the time of a response, which others waited for."""
    caplog.set_level(logging.INFO)
    address = ("127.0.0.1", server.ports[0])
    for _ in range(20):
        with socket.create_connection(address) as client:
            client.sendall(b"GET /connectors HTTP/1.1\r\nHost: h\r\n\r\n")
    with socket.create_connection(address, timeout=5) as staying:
        staying.sendall(b"GET /connectors/c HTTP/1.1\r\nHost: h\r\n\r\n")
        server.start(herder)
        assert staying.recv(12) == b"HTTP/1.1 200"
    server.stop(5)  # a line of the log follows the response
    assert "GET /connectors/c " in caplog.text
    assert "GET /connectors HTTP" not in caplog.text
    assert "ERROR" not in caplog.text


def test_a_taken_port_frees_the_others(server: RestServer) -> None:
    free = rest_server(LOCAL)
    free.bind()
    (port,) = free.ports
    free.stop()
    other = rest_server(f"http://127.0.0.1:{port}", f"http://127.0.0.1:{server.ports[0]}")
    with pytest.raises(ConnectError, match=f"Address already in use: port {server.ports[0]}"):
        other.bind()
    again = rest_server(f"http://127.0.0.1:{port}")
    again.bind()
    again.stop()


def test_stop_lets_a_running_request_end(server: RestServer) -> None:
    herder = SlowHerder()
    server.start(herder)
    statuses: list[int] = []
    running = threading.Thread(
        target=lambda: statuses.append(requests.get(server.advertised_url, timeout=10).status_code)
    )
    running.start()
    assert herder.asked.wait(5)
    threading.Timer(0.2, herder.released.set).start()
    server.stop(5)
    running.join(5)
    assert statuses == [200]
    with pytest.raises(requests.ConnectionError):
        requests.get(server.advertised_url, timeout=5)


def test_stop_does_not_wait_for_a_request_that_never_ends(server: RestServer) -> None:
    herder = SlowHerder()
    server.start(herder)
    texts: list[str] = []
    hanging = threading.Thread(target=lambda: texts.append(requests.get(server.advertised_url, timeout=10).text))
    hanging.start()
    assert herder.asked.wait(5)
    began = time.monotonic()
    server.stop(1)
    assert time.monotonic() - began < 3
    hanging.join(5)
    assert texts == ['{"error_code":500,"message":"Request interrupted"}']
    herder.released.set()


def test_requests_are_logged_like_javas(
    server: RestServer, herder: MemoryHerder, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        server.start(herder)
        requests.get(f"{server.advertised_url}connectors?a=b", headers={"User-Agent": "me"}, timeout=5)
        server.stop(5)
    lines = [record.getMessage() for record in caplog.records if "access_log" in record.name]
    assert len(lines) == 1
    assert ACCESS.fullmatch(lines[0])
    told = [record.getMessage() for record in caplog.records if record.name.endswith("rest.server")]
    assert told == [
        "REST resources initialized; server is started and ready to handle requests",
        "Stopping REST server",
        "REST server stopped",
    ]
    assert not [record for record in caplog.records if record.name.startswith("uvicorn")]


class SlowHerder(MemoryHerder):
    """Answers `GET /` when it is released."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.released = threading.Event(), threading.Event()

    def server_info(self) -> ServerInfo:
        self.asked.set()
        self.released.wait(20)
        return super().server_info()
