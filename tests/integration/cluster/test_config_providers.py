"""Placeholders in a group of workers: its topics keep them, its members resolve them."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Broker
from tests.distributed_process import DistributedProcess, group_properties
from tests.integration.standalone.told_connector import PLUGINS, PROVIDERS, SECRET, Told
from tests.integration.topics import read_topic, size

pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module")
def worker(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DistributedProcess]:
    folder = tmp_path_factory.mktemp("providers")
    prefix = f"providers-{uuid.uuid4().hex[:8]}-"
    props = group_properties(broker.bootstrap_servers, prefix) | PROVIDERS | {"plugin.path": str(PLUGINS)}
    props["config.reload.interval.ms"] = "200"
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("TOLD_TASKS", "2")
        with DistributedProcess(props, folder) as process:
            yield process


@pytest.fixture
def told(worker: DistributedProcess, topic_prefix: str, tmp_path: Path) -> Iterator[Told]:
    connector = Told(worker, f"{topic_prefix}c", tmp_path)
    connector.secrets.write_text(f"password={SECRET}\n")
    yield connector
    connector.call("DELETE")
    assert SECRET not in worker.log()


def test_topics_hold_placeholders(told: Told, broker: Broker) -> None:
    placeholders = {"password": told.secret("password"), "tasks.max": "${env:TOLD_TASKS}"}
    assert told.put(**placeholders).status == 201
    told.wait_states("RUNNING", "RUNNING", "RUNNING")
    for who in ("connector", "task 0", "task 1"):
        told.wait_told(who, password=SECRET)
    for task in told.call("GET", "/tasks").json:
        assert {name: task["config"][name] for name in placeholders} == placeholders
    for topic in (told.worker.props[f"{kind}.storage.topic"] for kind in ("config", "status")):
        records = read_topic(broker.bootstrap_servers, topic, size(broker.bootstrap_servers, topic))
        assert len(records) > 2
        assert SECRET.encode() not in b"".join(one.value() or b"" for one in records)


def test_a_failing_provider_fails_what_needs_it_and_nothing_else(told: Told, topic_prefix: str) -> None:
    other = Told(told.worker, f"{topic_prefix}other", told.folder / "other")
    other.folder.mkdir()
    assert other.put().status == 201
    assert told.put(password=told.secret("password")).status == 201
    told.wait_states("RUNNING", "RUNNING")
    told.secrets.unlink()
    assert told.call("POST", "/restart?includeTasks=true").status == 202
    status = told.wait_states("FAILED", "FAILED")
    for part in (status["connector"], status["tasks"][0]):
        assert part["trace"].startswith(
            "org.apache.kafka.common.config.ConfigException: Could not read properties from file "
            f"{told.secrets}: No such file or directory, for {told.secret('password')} in password\n"
        )
    assert other.call("POST", "/restart?includeTasks=true").status == 202
    other.wait_states("RUNNING", "RUNNING")
    other.call("DELETE")
    told.secrets.write_text(f"password={SECRET}\n")
    assert told.call("POST", "/restart?includeTasks=true&onlyFailed=true").status == 202
    told.wait_states("RUNNING", "RUNNING")


def test_connector_and_tasks_restart_when_a_secret_was_rotated(told: Told) -> None:
    assert told.put(password=told.secret("password")).status == 201
    told.wait_told("task 0", password=SECRET)
    told.secrets.write_text("password=rotated\n")
    for who in ("connector", "task 0"):
        told.wait_told(who, password="rotated")
    told.wait_states("RUNNING", "RUNNING")


def test_tasks_restart_when_the_secrets_of_the_old_configuration_are_gone(told: Told) -> None:
    """The idea of Kafka's ConnectWorkerIntegrationTest.testReconfigureConnectorWithFailingTaskConfigs."""
    assert told.put(password=told.secret("password")).status == 201
    told.wait_states("RUNNING", "RUNNING")
    told.secrets.unlink()
    assert told.put(password="plain").status == 200
    told.wait_told("task 0", password="plain")
    told.wait_states("RUNNING", "RUNNING")
