"""When `connect-standalone` does not start: exit codes and what it says."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from connect_dagster.embedded.ports import HOST, free_port
from tests.integration.standalone.conftest import run, run_worker

USAGE = "Usage: ConnectStandalone worker.properties [connector1.properties connector2.json ...]"


@pytest.mark.parametrize(
    "name",
    [
        "offset.storage.file.filename",
        pytest.param("key.converter", marks=pytest.mark.nightly),
        pytest.param("bootstrap.servers", marks=pytest.mark.nightly),
        pytest.param("value.converter", marks=pytest.mark.nightly),
    ],
)
def test_s1_13_a_required_property_is_missing(worker_props: dict[str, str], tmp_path: Path, name: str) -> None:
    del worker_props[name]
    ended = run_worker(tmp_path, worker_props)
    assert ended.code == 2
    assert "Stopping due to error" in ended.log
    assert f'Missing required configuration "{name}" which has no default value.' in ended.log


@pytest.mark.nightly
def test_s1_15_a_name_is_taken(worker_props: dict[str, str], tmp_path: Path, file_source: Callable[..., Path]) -> None:
    file = file_source("local-file-source")
    ended = run_worker(tmp_path, worker_props, file, file)
    assert ended.code == 3
    assert "Created connector local-file-source (" in ended.log
    assert f"Failed to create connector for {file} (" in ended.log
    assert "Connector local-file-source already exists" in ended.log


@pytest.mark.parametrize("arguments", [[], ["w.properties", "--help"]])
def test_s1_18_usage(arguments: list[str]) -> None:
    ended = run(*arguments)
    assert ended.code == 1
    assert USAGE in ended.log


@pytest.mark.nightly
def test_s1_19_a_connector_without_topic(
    worker_props: dict[str, str], tmp_path: Path, file_source: Callable[..., Path]
) -> None:
    bad = file_source("bad", topic=None)
    ended = run_worker(tmp_path, worker_props, bad)
    assert ended.code == 3
    assert f"Failed to create connector for {bad} (" in ended.log
    assert "Stopping after connector error" in ended.log
    assert (
        "Connector configuration is invalid and contains the following 1 error(s):\n"
        'Missing required configuration "topic" which has no default value.\n'
    ) in ended.log
    assert "The options are explained in docs/reference/connector_options.md (" in ended.log


@pytest.mark.nightly
def test_s1_19_a_connector_file_that_is_not_there(worker_props: dict[str, str], tmp_path: Path) -> None:
    missing = tmp_path / "missing.properties"
    ended = run_worker(tmp_path, worker_props, missing)
    assert ended.code == 3
    assert "Stopping after connector error" in ended.log
    assert f"Cannot read {missing}: No such file or directory" in ended.log


def test_a_worker_file_that_is_not_there(tmp_path: Path) -> None:
    ended = run(tmp_path / "missing.properties")
    assert ended.code == 2
    assert f"Stopping due to error: Cannot read {tmp_path}/missing.properties: No such file or directory" in ended.log


def test_a_malformed_worker_file(tmp_path: Path) -> None:
    file = tmp_path / "worker.properties"
    file.write_text("bootstrap.servers=localhost:9092\nplugin.path=C:\\users\n")
    ended = run(file)
    assert ended.code == 2
    assert f"Stopping due to error: {file}, line 2: Malformed \\uxxxx encoding: \\user" in ended.log


@pytest.mark.nightly
def test_a_malformed_connector_file(worker_props: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "source.json"
    file.write_text('{"name": "x",\n "connector.class": FileStreamSource}')
    ended = run_worker(tmp_path, worker_props, file)
    assert ended.code == 3
    assert f"{file} is not valid JSON: Expecting value: line 2 column 21" in ended.log


@pytest.mark.nightly
def test_an_unknown_connector_class(
    worker_props: dict[str, str], tmp_path: Path, file_source: Callable[..., Path]
) -> None:
    file = file_source("x", **{"connector.class": "no.such.Connector"})
    ended = run_worker(tmp_path, worker_props, file)
    assert ended.code == 3
    assert (
        "Failed to find any class that implements Connector and which name matches no.such.Connector, "
        "available connectors are: PluginDesc{klass=class "
    ) in ended.log


@pytest.mark.nightly
def test_brokers_that_do_not_answer(worker_props: dict[str, str], tmp_path: Path) -> None:
    nobody = f"{HOST}:{free_port()}"
    began = time.monotonic()
    ended = run_worker(tmp_path, {**worker_props, "bootstrap.servers": nobody})
    took = time.monotonic() - began
    assert ended.code == 2
    assert (
        f"Failed to connect to and describe Kafka cluster at bootstrap.servers={nobody} within 6 s "
        "(Failed to get metadata: Local: Broker transport failure). "
        "Check worker's broker connection and security properties."
    ) in ended.log
    assert took < 60, "10 s on a machine of its own; tests share theirs"
