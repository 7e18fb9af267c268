"""The jobs on a distributed worker, ours and Java's: what they wait for shows on both in the same way."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import dagster as dg
import pytest
from dagster import DagsterEventType, DagsterInstance, ExecuteInProcessResult

from connect_dagster.client.types import State
from connect_dagster.orchestration import (
    KafkaConnectClient,
    KafkaConnectConnectorSpec,
    KafkaConnectWorkspace,
    build_kafka_connect_jobs,
)
from tests.conformance.java_cluster import JavaDistributed
from tests.conftest import Broker
from tests.distributed_process import DistributedProcess, group_properties
from tests.integration.topics import size
from tests.shipped_project import wait_until

pytestmark = pytest.mark.nightly

STRINGS = "org.apache.kafka.connect.storage.StringConverter"
CONVERTERS = {"key.converter": STRINGS, "value.converter": STRINGS}
WORKERS: Mapping[str, Callable[[dict[str, str], Path], DistributedProcess | JavaDistributed]] = {
    "ours": DistributedProcess,
    "java": JavaDistributed,
}


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster of one worker, and a file source with its topic and a sink for it, declared."""

    workspace: KafkaConnectWorkspace
    instance: DagsterInstance
    folder: Path
    topic: str

    @property
    def client(self) -> KafkaConnectClient:
        return self.workspace.get_client()

    @property
    def source(self) -> KafkaConnectConnectorSpec:
        file = self.folder / "in.txt"
        config = {"connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector", "topic": self.topic}
        return self._declared("source", {**config, "file": str(file)})

    @property
    def sink(self) -> KafkaConnectConnectorSpec:
        file = self.folder / "out" / "out.txt"
        config = {"connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector", "topics": self.topic}
        return self._declared("sink", {**config, "file": str(file)})

    def run(self, verb: str, **config: Any) -> ExecuteInProcessResult:
        """Run a verb's job as the Launchpad would."""
        declared = [self.source, self.sink]
        jobs = {job.name: job for job in build_kafka_connect_jobs(workspace=self.workspace, connectors=declared)}
        job = jobs[f"kafka_connect_{verb}"]
        run_config = {"ops": {f"{job.name}_op": {"config": config}}} if config else None
        return job.execute_in_process(run_config=run_config, instance=self.instance)

    def states(self) -> tuple[str, str]:
        """Where source and sink are."""
        return self.client.status(self.source.name).summary(), self.client.status(self.sink.name).summary()

    def wait_committed(self, connector: str, offset: Mapping[str, int]) -> None:
        wait_until(lambda: [one.offset for one in self.client.offsets(connector)] == [offset], f"commit {offset}", 90)

    def _declared(self, end: str, config: dict[str, str]) -> KafkaConnectConnectorSpec:
        return KafkaConnectConnectorSpec.from_config({"name": f"{self.topic}-{end}", **CONVERTERS, **config})


@pytest.fixture(name="cluster", scope="module", params=WORKERS.keys())
def cluster_fixture(
    request: pytest.FixtureRequest, broker: Broker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    folder, mark = tmp_path_factory.mktemp("operated"), f"operated-{uuid4().hex[:8]}"
    props = group_properties(broker.bootstrap_servers, f"{mark}-", offset_flush_interval_ms="500")
    with WORKERS[request.param](props, folder / "worker") as worker, DagsterInstance.ephemeral() as instance:
        workspace = KafkaConnectWorkspace(url=worker.rest_url, bootstrap_servers=broker.bootstrap_servers)
        yield Cluster(workspace, instance, folder, mark)


def output_metadata(result: ExecuteInProcessResult) -> dict[str, Any]:
    outputs = [event for event in result.all_node_events if event.event_type is DagsterEventType.STEP_OUTPUT]
    return {key: value.value for key, value in outputs[0].step_output_data.metadata.items()}


def test_s3_07_apply_says_what_failed_and_restart_mends_it(cluster: Cluster) -> None:
    (cluster.folder / "in.txt").write_text("one\ntwo\nthree\n")
    with pytest.raises(dg.Failure) as failure:
        cluster.run("apply", timeout=15.0)
    assert failure.value.description == (
        f"1 of 2 connectors did not reach RUNNING: '{cluster.sink.name}': RUNNING, task 0 FAILED"
    )
    (cluster.folder / "out").mkdir()
    cluster.run("restart")
    assert cluster.states() == ("RUNNING, task 0 RUNNING",) * 2
    assert output_metadata(cluster.run("apply", dry_run=True))["diff"].count("no change") == 2


def test_s3_06_verbs_are_done_when_their_runs_are(cluster: Cluster) -> None:
    cluster.run("pause")
    assert cluster.states() == ("PAUSED, task 0 PAUSED",) * 2
    cluster.run("stop")
    assert cluster.states() == ("STOPPED",) * 2
    cluster.run("resume")
    assert cluster.states() == ("RUNNING, task 0 RUNNING",) * 2


def test_s3_11_offsets_of_both_ends_are_reset_and_altered(cluster: Cluster) -> None:
    source, sink = cluster.source.name, cluster.sink.name
    cluster.wait_committed(source, {"position": 14})
    cluster.wait_committed(sink, {"kafka_offset": 3})
    bootstrap = cluster.workspace.bootstrap_servers or ""

    partition = {"filename": str(cluster.folder / "in.txt")}
    entries = [{"partition": partition, "offset": {"position": 4}}]
    metadata = output_metadata(cluster.run("alter_offsets", connector=source, offsets=entries))
    assert metadata["offsets_before"]["offsets"] == [{"partition": partition, "offset": {"position": 14}}]
    assert metadata["offsets_after"]["offsets"] == entries
    wait_until(lambda: size(bootstrap, cluster.topic) == 5, "see two lines again", 90)
    cluster.wait_committed(sink, {"kafka_offset": 5})

    metadata = output_metadata(cluster.run("reset_offsets", connectors=[sink, source]))
    assert metadata[f"{sink}: offsets_before"]["offsets"][0]["offset"] == {"kafka_offset": 5}
    assert (metadata[f"{source}: offsets_after"], metadata[f"{sink}: offsets_after"]) == ({"offsets": []},) * 2
    assert cluster.client.status(sink).has_reached(State.RUNNING)
    wait_until(lambda: size(bootstrap, cluster.topic) == 8, "see all lines again", 90)
    lines = cluster.folder / "out" / "out.txt"
    wait_until(lambda: len(lines.read_text().splitlines()) == 13, "see the sink read everything again", 90)
    cluster.run("delete", connectors=[source, sink])
    assert cluster.client.connectors() == {}
