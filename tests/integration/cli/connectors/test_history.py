"""`connect-dagster history` and `rollback`: at a worker of a group, whose config topic a real broker has."""

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from connect_dagster.cli.main import main
from connect_dagster.client.rest_client import KafkaConnectClient
from tests.conformance.java_cluster import JavaDistributed
from tests.conftest import Broker
from tests.distributed_process import DistributedProcess, group_properties
from tests.shipped_project import wait_until

EXACTLY_ONCE = {"exactly_once_source_support": "enabled"}


@pytest.mark.parametrize("worker_class", [DistributedProcess, pytest.param(JavaDistributed, marks=pytest.mark.nightly)])
def test_a_connector_goes_back_and_comes_back(
    broker: Broker, topic_prefix: str, tmp_path: Path, worker_class: type[DistributedProcess | JavaDistributed]
) -> None:
    """The leader writes in transactions, whose markers have offsets as well."""
    group = group_properties(broker.bootstrap_servers, topic_prefix, **EXACTLY_ONCE)
    name, source, out = f"{topic_prefix}lines", tmp_path / "in.txt", f"{topic_prefix}out"
    source.write_text("one\n")
    first = {"connector.class": "FileStreamSource", "name": name, "file": str(source), "topic": out}
    with worker_class(group, tmp_path) as worker:
        run, client = commands(worker, broker), KafkaConnectClient(worker.rest_url)
        client.put_config(name, first)
        wait_until(lambda: name in client.connectors(), "see the connector", 60)
        run("resume", name)
        run("patch", name, "--set", f"topic={out}2")
        changes = [line.split()[2:] for line in run("history", name).splitlines()[1:]]
        assert changes == [["the", "first", "one", "that", "is", "left"], ["topic"]]

        lines = run("rollback", name).splitlines()
        assert lines[1:] == [f"- topic={out}2", f"+ topic={out}", f"{name}: RUNNING, task 0 RUNNING"]
        assert config_of(client, name) == first

        run("delete", name)
        versions = [line.split() for line in run("history", name).splitlines()[1:]]
        assert [version[2:] for version in versions[2:]] == [["topic"], ["deleted"]]
        numbers = [version[0] for version in versions]
        assert run("history", name, "--diff", numbers[0], numbers[2]) == "no change\n"
        run("rollback", name, "--to", numbers[1])
        assert config_of(client, name) == {**first, "topic": f"{out}2"}
        wait_until(lambda: "created" in run("history", name), "see it in the history", 20)


def config_of(client: KafkaConnectClient, name: str) -> dict[str, str | None]:
    """The configuration that the worker shows."""
    info = client.info(name)
    assert info is not None
    return info.config


def commands(worker: DistributedProcess | JavaDistributed, broker: Broker) -> Callable[..., str]:
    """Return a function that runs `connect-dagster` at the worker and returns its output."""
    places = {
        "CONNECT_DAGSTER_REST_URL": worker.rest_url,
        "KAFKA_BOOTSTRAP_SERVERS": broker.bootstrap_servers,
        "CONNECT_DAGSTER_CONFIG_TOPIC": worker.props["config.storage.topic"],
    }

    def run(*words: str) -> str:
        ran = CliRunner(env=places).invoke(main, words)
        assert ran.exit_code == 0, ran.output
        return ran.stdout

    return run
