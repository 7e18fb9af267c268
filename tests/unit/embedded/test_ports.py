"""Ports that servers can take, and take again."""

import socket

from connect_dagster.embedded.ports import HOST, free_port, is_free, is_listening


def test_a_free_port_can_be_listened_on_and_then_is_taken() -> None:
    port = free_port()
    assert is_free(port)
    assert not is_listening(port)
    with socket.create_server((HOST, port)):
        assert not is_free(port)
        assert is_listening(port)


def test_a_port_taken_on_every_address_is_taken() -> None:
    with socket.create_server(("0.0.0.0", 0)) as server:
        assert not is_free(server.getsockname()[1])
