"""Listener URLs, and what is advertised."""

import errno
import os
import socket
from contextlib import ExitStack
from urllib.parse import urlsplit

import pytest

from connect_dagster.errors import ConfigError
from connect_dagster.rest.listeners import Advertised, Listener, ListenerUnavailable
from tests.unit.rest.serving import LOCAL


@pytest.mark.parametrize(
    ("url", "scheme", "host", "port"),
    [
        ("http://127.0.0.1:18083", "http", "127.0.0.1", 18083),
        ("HTTP://:18083", "http", "", 18083),
        ("http://[::1]:0", "http", "::1", 0),
        (" http://my-host.local:80 ", "http", "my-host.local", 80),
        ("HTTPS://:8443", "https", "", 8443),
    ],
)
def test_listeners_are_read(url: str, scheme: str, host: str, port: int) -> None:
    listener = Listener.parse(url)
    assert (listener.scheme, listener.host, listener.port) == (scheme, host, port)


@pytest.mark.parametrize("url", ["ftp://x:1", "x:1", "http://x", "http://x:1/", "http://x:99999", "http://x:-1"])
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
    ("advertised", "urls", "expected"),
    [
        (Advertised(), [LOCAL], "http://127.0.0.1:{0}/"),
        (Advertised("there", 99), [LOCAL], "http://there:99/"),
        (Advertised(port=99), ["http://0.0.0.0:0"], "http://0.0.0.0:99/"),
        (Advertised("::1"), [LOCAL], "http://[::1]:{0}/"),
        (Advertised(), [LOCAL, LOCAL], "http://127.0.0.1:{0}/"),
        (Advertised(), ["https://127.0.0.1:0"], "https://127.0.0.1:{0}/"),
        (Advertised(), ["https://127.0.0.1:0", LOCAL], "http://127.0.0.1:{1}/"),
        (Advertised(scheme="https"), [LOCAL, "https://127.0.0.1:0"], "https://127.0.0.1:{1}/"),
        (Advertised(scheme="https"), [LOCAL], "https://127.0.0.1:{0}/"),  # behind a proxy
    ],
)
def test_the_first_listener_with_the_scheme_is_advertised(
    advertised: Advertised, urls: list[str], expected: str
) -> None:
    listeners = [Listener.parse(url) for url in urls]
    with ExitStack() as opened:
        bound = [opened.enter_context(listener.bind()) for listener in listeners]
        ports = [taken.getsockname()[1] for taken in bound]
        assert advertised.url(listeners, bound) == expected.format(*ports)


def test_an_empty_host_advertises_this_machine() -> None:
    listener = Listener.parse("http://:0")
    with listener.bind() as bound:
        url = urlsplit(Advertised().url([listener], [bound]))
    assert socket.inet_aton(url.hostname or "")
    assert url.hostname != "0.0.0.0"
    assert url.port
