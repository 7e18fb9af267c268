"""A worker that is told to use a converter that there is not."""

from pathlib import Path

import pytest

from tests.conftest import Broker
from tests.integration.worker_process import WorkerProcess


@pytest.mark.parametrize(
    "name",
    [
        "value.converter",
        *(pytest.param(name, marks=pytest.mark.nightly) for name in ("key.converter", "header.converter")),
    ],
)
def test_s1_13_an_unknown_converter_ends_the_worker(broker: Broker, tmp_path: Path, name: str) -> None:
    worker = WorkerProcess({"bootstrap.servers": broker.bootstrap_servers, name: "no.Such"}, [], tmp_path)
    worker.start()
    assert worker.wait_exit(90) == 2
    assert "Stopping due to error" in worker.log()
    text = (
        "org.apache.kafka.common.config.ConfigException: "
        f"Invalid value no.Such for configuration {name}: Class no.Such could not be found."
    )
    assert text in worker.log()
