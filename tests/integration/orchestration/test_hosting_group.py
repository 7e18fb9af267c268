"""A live group of four workers, started by Dagster's resource: what it and the group's assets tell of them."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster import AssetKey, DagsterInstance
from dagster_pyspark import LazyPySparkResource

from connect_dagster.client.types import State
from connect_dagster.embedded.ports import HOST, free_port, is_free
from connect_dagster.orchestration import (
    ConnectWorkerResource,
    KafkaConnectClient,
    KafkaConnectWorkspace,
    build_connect_group_assets,
    numbered_workers,
)
from connect_dagster.orchestration.assets.keys import group_key, topic_key
from connect_dagster.orchestration.workers.metadata import WorkerReport
from connect_dagster.orchestration.workers.process import WorkerProcess
from tests.conftest import Broker
from tests.shipped_project import wait_until

pytestmark = pytest.mark.nightly

WORKERS = 4
SECRET = "kafka123"


@dataclass(frozen=True, slots=True)
class LiveGroup:
    """Four workers that run and two sources on them."""

    resources: dict[str, ConnectWorkerResource]
    processes: dict[str, WorkerProcess]
    prefix: str
    folder: Path

    @property
    def any(self) -> ConnectWorkerResource:
        """One of the workers."""
        return self.resources["worker-1"]

    @property
    def client(self) -> KafkaConnectClient:
        return self.any.workspace.get_client()

    @property
    def connectors(self) -> list[str]:
        return [f"{self.prefix}{name}" for name in ("one", "two")]


@pytest.fixture(scope="module")
def group(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveGroup]:
    folder = tmp_path_factory.mktemp("hosting-group")
    prefix = f"hosting-{free_port()}-"
    file = folder / "worker.properties"
    file.write_text("".join(f"{kind}.storage.replication.factor=1\n" for kind in ("config", "offset", "status")))
    with file.open("a") as more:
        converter = "org.apache.kafka.connect.json.JsonConverter"
        more.write(f"key.converter={converter}\nvalue.converter={converter}\noffset.flush.interval.ms=500\n")
    url = f"http://{HOST}:{_free_ports(WORKERS)}"
    worker = ConnectWorkerResource(
        workspace=KafkaConnectWorkspace(url=url),
        worker_properties=str(file),
        bootstrap_servers=broker.bootstrap_servers,
        listener=url,
        group_id=f"{prefix}group",
        config_storage_topic=f"{prefix}configs",
        offset_storage_topic=f"{prefix}offsets",
        status_storage_topic=f"{prefix}status",
        properties={"scheduled.rebalance.max.delay.ms": "0"},
        spark=LazyPySparkResource(spark_config={"spark.driver.memory": "600m", "spark": {"sql.ansi.enabled": True}}),
    )
    resources = numbered_workers(worker, WORKERS)
    with ExitStack() as stack, ThreadPoolExecutor() as pool:
        processes = dict(zip(resources, pool.map(ConnectWorkerResource.start, resources.values()), strict=True))
        for process in processes.values():
            stack.callback(process.stop, 20.0)
        live = LiveGroup(resources, processes, prefix, folder)
        _create_sources(live)
        yield live


def _free_ports(count: int) -> int:
    """The first of so many ports in a row that nobody listens at."""
    while True:
        first = free_port()
        if all(is_free(first + number) for number in range(count)):
            return first


def _create_sources(live: LiveGroup) -> None:
    for name in live.connectors:
        (live.folder / f"{name}.txt").write_text("one\ntwo\n")
        config = {
            "name": name,
            "connector.class": "FileStreamSource",
            "file": str(live.folder / f"{name}.txt"),
            "topic": f"{live.prefix}lines",
            "producer.override.sasl.password": SECRET,
        }
        _retried(lambda config=config: live.client.create(config, "RUNNING"))  # type: ignore[misc]
    wait_until(lambda: _all_run(live), "run", 60)
    wait_until(lambda: len(live.any.offsets()) == len(live.connectors), "commit offsets", 60)
    wait_until(lambda: live.any.group().state == "Stable", "settle", 60)


def _all_run(live: LiveGroup) -> bool:
    found = live.client.connectors()
    return all(name in found and found[name].status.has_reached(State.RUNNING) for name in live.connectors)


def _retried(call: Callable[[], None]) -> None:
    """A group that forms answers 409 for longer than the client asks again."""
    for _ in range(20):
        try:
            return call()
        except Exception as error:
            last = error
            time.sleep(1)
    raise last


def _materialized(live: LiveGroup, *keys: AssetKey) -> dict[AssetKey, dict[str, Any]]:
    """Metadata of the group's assets after they were materialised."""
    assets = build_connect_group_assets(worker=live.any, worker_ids=live.resources)
    with DagsterInstance.ephemeral() as instance:
        assert dg.materialize([assets], instance=instance, selection=list(keys)).success
        events = {key: instance.get_latest_materialization_event(key) for key in keys}
    assert all(SECRET not in str(event) for event in events.values())
    found = {key: event.asset_materialization for key, event in events.items() if event}
    return {key: {name: entry.value for name, entry in one.metadata.items()} for key, one in found.items() if one}


def rows(table: Any) -> list[dict[str, Any]]:
    """Rows of a table in metadata."""
    return [dict(record.data) for record in table.records]


def test_s3_05_members_of_a_live_group_of_four(group: LiveGroup) -> None:
    members = group.any.members()
    assert len(members) == WORKERS
    assert len({member.member_id for member in members}) == WORKERS
    assert {member.client_host for member in members} == {f"/{HOST}"}
    assert [member.rest_url for member in members] == sorted(
        f"{worker.workspace.url}/" for worker in group.resources.values()
    )
    assert sum(member.leader for member in members) == 1
    assert sorted(name for member in members for name in member.connectors) == group.connectors
    assert sorted(task for member in members for task in member.tasks) == [f"{name}-0" for name in group.connectors]
    assert {member.generation for member in members} == {group.any.group().generation}
    assert min(member.generation or 0 for member in members) >= 1
    assert max(member.config_offset or 0 for member in members) <= group.any.configs().offset


def test_s3_05_work_is_where_rest_says(group: LiveGroup) -> None:
    for name in group.connectors:
        status = group.client.status(name)
        by_url = {str(member.rest_url): member for member in group.any.members()}
        assert name in by_url[f"http://{status.connector.worker_id}/"].connectors
        assert f"{name}-0" in by_url[f"http://{status.tasks[0].worker_id}/"].tasks


def test_s3_05_the_group_asset_shows_the_same(group: LiveGroup) -> None:
    key = group_key(f"{group.prefix}group")
    told = _materialized(group, key)[key]
    known = group.any.group()
    assert (told["state"], told["protocol"], told["member_count"]) == ("Stable", "sessioned", WORKERS)
    assert (told["generation"], told["leader"], told["leader_url"]) == (
        known.generation,
        known.leader,
        known.leader_url,
    )
    assert rows(told["members"]) == [
        {
            "member_id": member.member_id,
            "client_host": member.client_host,
            "rest_url": member.rest_url,
            "leader": member.leader,
            "config_offset": member.config_offset,
            "generation": member.generation,
            "connectors": ", ".join(member.connectors),
            "tasks": ", ".join(member.tasks),
        }
        for member in known.members
    ]


def test_s3_04_the_topics_assets_hold_what_the_topics_hold(group: LiveGroup) -> None:
    keys = {kind: topic_key(f"{group.prefix}{kind}") for kind in ("configs", "offsets", "status")}
    told = _materialized(group, *keys.values())
    names = "connector.class, file, name, producer.override.sasl.password, topic"
    assert rows(told[keys["configs"]]["connectors"]) == [
        {"connector": name, "target_state": "STARTED", "tasks": 1, "consistent": True, "properties": names}
        for name in group.connectors
    ]
    assert [row["connector"] for row in rows(told[keys["offsets"]]["offsets"])] == group.connectors
    assert {row["offset"] for row in rows(told[keys["offsets"]]["offsets"])} == {'{"position": 8}'}
    states = rows(told[keys["status"]]["states"])
    assert [(row["connector"], row["task"], row["state"]) for row in states] == [
        (name, task, "RUNNING") for name in group.connectors for task in ("", "0")
    ]
    generation = group.any.group().generation or 0
    assert all(1 <= row["generation"] <= generation for row in states)
    assert told[keys["status"]]["tasks_failed"] == 0


def test_s3_01_each_worker_reports_its_own_part(group: LiveGroup) -> None:
    told = [
        WorkerReport(worker.workspace.get_client(), worker.rest_worker_id).running(process)
        for worker, process in zip(group.resources.values(), group.processes.values(), strict=True)
    ]
    assert [metadata["worker_id"] for metadata in told] == [
        worker.workspace.url.removeprefix("http://") for worker in group.resources.values()
    ]
    assert sum(metadata["connector_count"] for metadata in told) == len(group.connectors)
    assert sum(metadata["task_count"] for metadata in told) == len(group.connectors)
    assert min(metadata["rebalance_total"] for metadata in told) >= 1
    assert all(isinstance(metadata["rss_bytes"], int) for metadata in told)


def test_sparks_config_is_that_of_the_workers_session(group: LiveGroup) -> None:
    known = group.any.effective_properties
    assert (known["spark.driver.memory"], known["spark.sql.ansi.enabled"]) == ("600m", "true")
    heap = [line for process in group.processes.values() for line in _command_lines(process.pid) if "-Xmx600m" in line]
    assert len(heap) == WORKERS


def _command_lines(session: int) -> list[str]:
    """Command lines of the processes of a session."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(stat.read_text().rpartition(")")[2].split()[3]) == session:
                found.append(stat.with_name("cmdline").read_text())
        except OSError:
            continue
    return found


def test_a_worker_that_runs_is_not_started_again(group: LiveGroup) -> None:
    with pytest.raises(dg.Failure, match="Another worker responds at"):
        group.any.start()


def test_what_is_not_there_is_said(group: LiveGroup) -> None:
    def with_fields(**fields: Any) -> ConnectWorkerResource:
        return ConnectWorkerResource(workspace=KafkaConnectWorkspace(), request_timeout=2.0, **fields)

    servers = group.any.named("bootstrap.servers")
    with pytest.raises(dg.Failure, match=r"Kafka at .*: Topic 'none' does not exist"):
        with_fields(bootstrap_servers=servers, config_storage_topic="none").configs()
    with pytest.raises(dg.Failure, match=r"Kafka at .*: Group none-either not found"):
        with_fields(bootstrap_servers=servers, group_id="none-either").members()
    with pytest.raises(dg.Failure, match=r"No broker responds at 127\.0\.0\.1:"):
        with_fields(bootstrap_servers=f"{HOST}:{free_port()}", group_id="none").members()
    with pytest.raises(dg.Failure, match=r"The worker has no group\.id: give group_id, or a worker_properties file"):
        with_fields(bootstrap_servers=servers).members()
