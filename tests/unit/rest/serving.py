"""Servers with real sockets, made from a worker's properties."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from connect_dagster.herder.interface import Herder
from connect_dagster.rest.limits import LIMITS, Limits
from connect_dagster.rest.server import RestServer
from connect_dagster.rest.settings import RestSettings
from connect_dagster.worker.config.worker import WorkerConfig

LOCAL = "http://127.0.0.1:0"
REQUIRED = {"bootstrap.servers": "localhost:1", "key.converter": "Any", "value.converter": "Any"}


def worker_config(listeners: str = LOCAL, **props: str) -> WorkerConfig:
    """The configuration of a worker; `_` in names stands for `.`."""
    named = {name.replace("_", "."): value for name, value in props.items()}
    return WorkerConfig.parse({**REQUIRED, "listeners": listeners, **named})


def rest_server(*listeners: str, **props: str) -> RestServer:
    """A server that does nothing yet."""
    return RestServer.of(worker_config(",".join(listeners), **props))


@contextmanager
def serving(herder: Herder, *listeners: str, **props: str) -> Iterator[RestServer]:
    """A server that answers; on a free port unless listeners are given."""
    with limited(herder, LIMITS, *listeners, **props) as server:
        yield server


@contextmanager
def limited(herder: Herder, limits: Limits, *listeners: str, **props: str) -> Iterator[RestServer]:
    """A server that answers, with limits for its clients."""
    config = worker_config(",".join(listeners or (LOCAL,)), **props)
    server = RestServer(replace(RestSettings.of(config), limits=limits))
    try:
        server.start(herder)
        yield server
    finally:
        server.stop(1)
