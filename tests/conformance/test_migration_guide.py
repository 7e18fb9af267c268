"""The migration guide, done: a group of Java's worker, one of ours beside it, ours alone, and back to Java's."""

import json
import os
import re
import shlex
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from connect_dagster.embedded.ports import HOST, free_port
from connect_dagster.java.properties import load_properties
from tests.conformance.java_cluster import JavaDistributed
from tests.conftest import Broker
from tests.distributed_process import DistributedProcess
from tests.integration.cluster.group_of_workers import (
    LineFiles,
    TopicReader,
    await_running,
    put,
    worker_id,
)

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(600)]

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "migration.md"
TEXT = GUIDE.read_text(encoding="utf-8")
(FILE,) = re.findall(r"```properties\n(.*?)```", TEXT, re.DOTALL)
(COMMANDS,) = re.findall(r"```bash\n(.*?)```", TEXT, re.DOTALL)


def test_a_group_moves_from_java_to_ours_and_back(broker: Broker, topic_prefix: str, tmp_path: Path) -> None:
    (tmp_path / "guide.properties").write_text(FILE)
    names = {name: f"{topic_prefix}{name}" for name in re.findall(r"=(connect-[a-z]+)\n", FILE)}
    given = load_properties(str(tmp_path / "guide.properties"))
    props = {name: names.get(value, value) for name, value in given.items()}
    props |= {"bootstrap.servers": broker.bootstrap_servers, "listeners": f"http://{HOST}:{free_port()}"}
    java = JavaDistributed({**props, "listeners": f"http://{HOST}:{free_port()}"}, tmp_path / "java")
    ours = DistributedProcess(props, tmp_path / "ours")
    files = LineFiles(tmp_path, topic_prefix, 2)

    with TopicReader(broker.bootstrap_servers, files.topic) as reader:
        with java:
            java.wait_ready()
            sent = files.grow()
            for name in files.names:
                assert put(java.rest_url, name, files.config(name)).status == 201
            await_running([java.rest_url], files.names, files.tasks, [java.rest_url])
            reader.await_values(sent)
            ours.start()
            ours.wait_ready()
            shared = await_running([ours.rest_url], files.names, files.tasks, [java.rest_url, ours.rest_url])
            assert set(shared.load) == {worker_id(java.rest_url), worker_id(ours.rest_url)}
        alone = await_running([ours.rest_url], files.names, files.tasks, [ours.rest_url])
        assert set(alone.load) == {worker_id(ours.rest_url)}
        check_commands(files.names[0], names["connect-cluster"], broker.bootstrap_servers, ours.rest_url)
        sent += files.grow()
        reader.await_values(sent)

        java.start()
        java.wait_ready()
        try:
            await_running([java.rest_url], files.names, files.tasks, [java.rest_url, ours.rest_url])
            assert ours.stop() == 0
            await_running([java.rest_url], files.names, files.tasks, [java.rest_url])
            sent += files.grow()
            reader.await_values(sent)
        finally:
            java.stop()
        reader.read_to_end()
    assert Counter(reader.values) == Counter(sent)


def check_commands(connector: str, group: str, servers: str, rest_url: str) -> None:
    """Run the guide's commands: they name the worker that has the connector."""
    status, describe = (
        line.replace(" lines", f" {connector}").replace("connect-cluster", group).replace("127.0.0.1:9092", servers)
        for line in COMMANDS.splitlines()
    )
    assert worker_id(rest_url) in _run(status, rest_url)
    (member,) = json.loads(_run(describe, rest_url))["members"]
    assert member["subscription"]["url"] == f"{rest_url}/"


def _run(command: str, rest_url: str) -> str:
    program, *words = shlex.split(command)
    environment = {**os.environ, "CONNECT_DAGSTER_REST_URL": rest_url}
    done = subprocess.run([ROOT / program, *words], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


def test_its_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)", TEXT):
        assert (GUIDE.parent / target).exists(), target
