"""`connect-dagster history` and `rollback`: at a worker of a group, whose config topic a real broker has."""

from collections.abc import Callable
from pathlib import Path

from click.testing import CliRunner

from connect_dagster.cli.main import main
from tests.conftest import Broker
from tests.distributed_process import DistributedProcess, group_properties
from tests.shipped_project import wait_until

EXACTLY_ONCE = {"exactly_once_source_support": "enabled"}


def test_a_connector_goes_back_and_comes_back(broker: Broker, topic_prefix: str, tmp_path: Path) -> None:
    """The leader writes in transactions, whose markers have offsets as well."""
    group = group_properties(broker.bootstrap_servers, topic_prefix, **EXACTLY_ONCE)
    name, source, out = f"{topic_prefix}lines", tmp_path / "in.txt", f"{topic_prefix}out"
    source.write_text("one\n")
    first = {"connector.class": "FileStreamSource", "name": name, "file": str(source), "topic": out}
    with DistributedProcess(group, tmp_path) as worker:
        run = commands(worker, broker)
        assert worker.call("PUT", f"/connectors/{name}/config", first).status == 201
        worker.wait_states(name, "RUNNING", "RUNNING")
        run("patch", name, "--set", f"topic={out}2")
        changes = [line.split()[2:] for line in run("history", name).splitlines()[1:]]
        assert changes == [["the", "first", "one", "that", "is", "left"], ["topic"]]

        lines = run("rollback", name).splitlines()
        assert lines[1:] == [f"- topic={out}2", f"+ topic={out}", f"{name}: RUNNING, task 0 RUNNING"]
        assert worker.call("GET", f"/connectors/{name}").json["config"] == first

        run("delete", name)
        versions = [line.split() for line in run("history", name).splitlines()[1:]]
        assert [version[2:] for version in versions[2:]] == [["topic"], ["deleted"]]
        numbers = [version[0] for version in versions]
        assert run("history", name, "--diff", numbers[0], numbers[2]) == "no change\n"
        run("rollback", name, "--to", numbers[1])
        assert worker.call("GET", f"/connectors/{name}").json["config"]["topic"] == f"{out}2"
        wait_until(lambda: "created" in run("history", name), "see it in the history", 20)


def commands(worker: DistributedProcess, broker: Broker) -> Callable[..., str]:
    """What runs `connect-dagster` at the worker, and answers what it printed."""
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
