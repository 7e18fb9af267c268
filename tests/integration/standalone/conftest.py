"""What tests of the command need: files for it, and a run that is expected to end."""

import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from connect_dagster.embedded.ports import HOST, free_port
from tests.conftest import Broker
from tests.integration.worker_process import COMMAND, write_properties

SECONDS = 120
JSON_CONVERTER = "org.apache.kafka.connect.json.JsonConverter"


@dataclass(frozen=True, slots=True)
class Ended:
    """A command that has ended, with all it wrote."""

    code: int
    log: str


@pytest.fixture
def worker_props(broker: Broker, tmp_path: Path) -> dict[str, str]:
    """Properties of a worker, complete."""
    return {
        "bootstrap.servers": broker.bootstrap_servers,
        "listeners": f"http://{HOST}:{free_port()}",
        "key.converter": JSON_CONVERTER,
        "value.converter": JSON_CONVERTER,
        "offset.storage.file.filename": str(tmp_path / "connect.offsets"),
    }


@pytest.fixture
def file_source(tmp_path: Path, topic_prefix: str) -> Callable[..., Path]:
    """Writes the property file of a FileStreamSource; a key given as `None` is left out."""

    def write(name: str, **changes: str | None) -> Path:
        config = {"name": name, "connector.class": "FileStreamSource", "topic": f"{topic_prefix}{name}"}
        given = {**config, "file": str(tmp_path / f"{name}.txt"), **changes}
        kept = {key: value for key, value in given.items() if value is not None}
        return write_properties(tmp_path / f"{name}.properties", kept)

    return write


def run(*arguments: str | Path) -> Ended:
    """Run `connect-standalone` until it ends by itself."""
    done = subprocess.run(
        [COMMAND, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=os.environ,
        timeout=SECONDS,
        check=False,
    )
    return Ended(done.returncode, done.stdout.decode())


def run_worker(workdir: Path, props: Mapping[str, str], *connectors: str | Path) -> Ended:
    """Run a worker that is expected not to stay."""
    return run(write_properties(workdir / "worker.properties", props), *connectors)
