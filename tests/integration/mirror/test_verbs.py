"""`connect-dagster mirror`, as commands in a shell, on two clusters."""

import json
import re
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from connect_dagster.embedded.ports import HOST, free_port
from tests.integration.mirror.clusters import Cluster, eventually
from tests.integration.mirror.dedicated import DedicatedProcess
from tests.integration.mirror.test_dedicated import mm2
from tests.integration.worker_process import write_properties

pytestmark = pytest.mark.nightly

COMMAND = Path(sys.executable).with_name("connect-dagster")
RECORDS, COMMITTED = 300, 100


def run(*words: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [COMMAND, "mirror", *map(str, words)], capture_output=True, text=True, timeout=120, check=False
    )


def output(*words: object) -> str:
    ran = run(*words)
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout


@dataclass(frozen=True, slots=True)
class Mirrored:
    """A flow whose process runs, with one topic of 300 records and one group."""

    source: Cluster
    target: Cluster
    alias: str
    topic: str
    group: str
    file: Path


@pytest.fixture(scope="module")
def mirrored(source: Cluster, target: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mirrored]:
    tag, folder = uuid.uuid4().hex[:8], tmp_path_factory.mktemp("mirror")
    topic, group, alias = f"verbs-{tag}", f"group-{tag}", f"A{tag}"
    source.create(topic, 2)
    source.produce(topic, ({"value": str(number).encode(), "partition": number % 2} for number in range(RECORDS)))
    source.commit(group, {(topic, 0): COMMITTED})
    flow = {f"{alias}->B{tag}.enabled": "true", "topics": topic, "groups": group, "offset.lag.max": "0"}
    props = mm2(source, target, tag, **flow)
    file = write_properties(folder / "mm2.properties", props)
    with DedicatedProcess(props, folder):
        target.read(f"{alias}.{topic}", {0: RECORDS // 2, 1: RECORDS // 2})
        found = Mirrored(source, target, alias, topic, group, file)
        eventually(lambda: checkpoints(found) != "", "the group has a checkpoint")
        yield found


def checkpoints(flow: Mirrored) -> str:
    topic = f"{flow.alias}.checkpoints.internal"
    ran = run("read", topic, "--bootstrap-server", flow.target.bootstrap_servers)
    return ran.stdout if ran.returncode == 0 else ""


def translated(flow: Mirrored) -> int:
    """Return the downstream offset of the group's last checkpoint."""
    remote = re.escape(f"{flow.alias}.{flow.topic}")
    line = (
        rf"Checkpoint{{consumerGroupId={flow.group}, topicPartition={remote}-0, upstreamOffset={COMMITTED}, "
        r"downstreamOffset=(\d+), metadata=}"
    )
    return int(re.findall(line, checkpoints(flow))[-1])


def test_internal_records_are_printed_as_kafkas_formatters_do(mirrored: Mirrored) -> None:
    # Of 150 syncs ten are sent, the closer the newer: the translation is no further back than the group is.
    assert 2 * COMMITTED - RECORDS // 2 <= translated(mirrored) <= COMMITTED
    syncs = output(
        "read",
        f"mm2-offset-syncs.{mirrored.alias.replace('A', 'B', 1)}.internal",
        "--bootstrap-server",
        mirrored.source.bootstrap_servers,
    )
    assert f"OffsetSync{{topicPartition={mirrored.topic}-1, upstreamOffset=149, downstreamOffset=149}}" in syncs
    beats = output("read", "heartbeats", "--bootstrap-server", mirrored.target.bootstrap_servers)
    assert f"Heartbeat{{sourceClusterAlias={mirrored.alias}, " in beats


def test_offsets_of_a_group_are_translated(mirrored: Mirrored) -> None:
    words = ["translate", mirrored.group, "--source", mirrored.alias]
    words += ["--bootstrap-server", mirrored.target.bootstrap_servers]
    remote = f"{mirrored.alias}.{mirrored.topic}"
    offset = translated(mirrored)
    assert json.loads(output(*words, "--json")) == [{"topic": remote, "partition": 0, "offset": offset}]
    assert output(*words).splitlines() == [
        f"{'TOPIC':{len(remote)}}  PARTITION  OFFSET",
        f"{remote}  {0:<9}  {offset}",
    ]
    words[1] = "nobody"
    ran = run(*words)
    assert (ran.returncode, "Group 'nobody' of cluster" in ran.stderr) == (1, True), ran.stderr


def status(flow: Mirrored) -> dict[str, Any]:
    (found,) = json.loads(output("status", flow.file, "--json"))
    return dict(found)


def test_the_state_of_a_flow(mirrored: Mirrored) -> None:
    eventually(lambda: status(mirrored)["lag"] == 0, "all offsets are committed")
    found = status(mirrored)
    assert (found["topics"], found["groups"], found["error"]) == (1, 1, None)
    assert 0 <= found["checkpoint"] < 300
    assert 0 <= found["record"] < 300
    shown = output("status", mirrored.file).splitlines()
    heads = ["FLOW", "TOPICS", "LAG", "WORST", "RECORD", "HEARTBEAT", "LATENCY", "CHECKPOINT", "GROUPS"]
    assert shown[0].split() == heads
    assert shown[1].startswith(f"{mirrored.alias}->")


def test_the_readiness_of_a_group(mirrored: Mirrored) -> None:
    ready = json.loads(output("check", mirrored.file, "--json"))
    assert {row["group"]: row["ready"] for row in ready} == {None: True, mirrored.group: True}
    ran = run("check", mirrored.file, "--max-lag", "10")
    assert ran.returncode == 1
    assert f"it would read {RECORDS // 2 - translated(mirrored)} records" in ran.stdout


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (["read", "any-topic"], 2, "does not tell what its records are: add --as."),
        (["read", "no.heartbeats"], 1, "Topic 'no.heartbeats' does not exist."),
        (["translate", "g", "--source", "nobody"], 1, "Topic 'nobody.checkpoints.internal' does not exist."),
    ],
)
def test_wrong_arguments_are_one_sentence(target: Cluster, words: list[str], code: int, text: str) -> None:
    ran = run(*words, "--bootstrap-server", target.bootstrap_servers)
    assert (ran.returncode, text in ran.stderr) == (code, True), ran.stderr


def test_a_cluster_that_does_not_respond_is_named(target: Cluster, tmp_path: Path) -> None:
    nobody = Cluster(f"{HOST}:{free_port()}")
    file = write_properties(tmp_path / "mm2.properties", mm2(nobody, target, "", **{"A->B.enabled": "true"}))
    ran = run("status", file)
    assert ran.returncode == 2
    assert f"A->B: No broker of 'A' responded at {nobody.bootstrap_servers}" in ran.stderr
    assert "check A.bootstrap.servers" in ran.stderr
    (row,) = json.loads(run("check", file, "--json").stdout)
    assert (row["ready"], "groups are judged by their checkpoints alone" in row["why"]) == (None, True)


def test_a_file_without_a_flow_that_replicates_is_an_error(target: Cluster, tmp_path: Path) -> None:
    file = write_properties(tmp_path / "mm2.properties", mm2(target, target, ""))
    for verb in ("status", "check"):
        ran = run(verb, file, "--cluster", "B")
        assert (ran.returncode, "No flow to B in" in ran.stderr) == (1, True), ran.stderr
