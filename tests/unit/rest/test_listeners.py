"""Listener URLs, and what is advertised."""

import errno
import os
import socket

import pytest

from connect_dagster.plugin.errors import ConfigError
from connect_dagster.rest.listeners import Advertised, Listener, ListenerUnavailable


@pytest.mark.parametrize(
    ("url", "host", "port"),
    [
        ("http://127.0.0.1:18083", "127.0.0.1", 18083),
        ("HTTP://:18083", "", 18083),
        ("http://[::1]:0", "::1", 0),
        (" http://my-host.local:80 ", "my-host.local", 80),
    ],
)
def test_listeners_are_read(url: str, host: str, port: int) -> None:
    listener = Listener.parse(url)
    assert (listener.host, listener.port) == (host, port)


@pytest.mark.parametrize(
    "url", ["ftp://x:1", "https://x:1", "x:1", "http://x", "http://x:1/", "http://x:99999", "http://x:-1"]
)
def test_other_listeners_are_refused_with_their_value(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Listener.parse(url)
    assert str(caught.value).startswith(f"Invalid value {url} for configuration listeners: ")


def test_a_taken_port_is_told_with_its_number() -> None:
    with Listener.parse("http://127.0.0.1:0").bind() as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ListenerUnavailable) as caught:
            Listener.parse(f"http://:{port}").bind()
    text = f"{os.strerror(errno.EADDRINUSE)}: port {port} of listener http://:{port}"
    assert str(caught.value) == f"Unable to initialize REST server: {text}"


@pytest.mark.parametrize(
    ("advertised", "url", "expected"),
    [
        (Advertised(), "http://127.0.0.1:0", "127.0.0.1:{port}"),
        (Advertised("there", 99), "http://127.0.0.1:0", "there:99"),
        (Advertised(port=99), "http://0.0.0.0:0", "0.0.0.0:99"),
        (Advertised("::1"), "http://127.0.0.1:0", "[::1]:{port}"),
    ],
)
def test_the_first_listener_is_advertised(advertised: Advertised, url: str, expected: str) -> None:
    listener = Listener.parse(url)
    with listener.bind() as bound:
        port = bound.getsockname()[1]
        assert advertised.address([listener], [bound]) == expected.format(port=port)


def test_an_empty_host_advertises_this_machine() -> None:
    listener = Listener.parse("http://:0")
    with listener.bind() as bound:
        host, _, port = Advertised().address([listener], [bound]).rpartition(":")
    assert socket.inet_aton(host)
    assert host != "0.0.0.0"
    assert int(port) > 0
