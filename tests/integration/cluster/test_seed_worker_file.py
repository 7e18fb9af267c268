"""The fourth article's worker file: one worker of it, then four, and what the brokers say of group `connect`."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from connect_dagster.embedded.broker import EmbeddedBroker
from connect_dagster.embedded.ports import HOST
from connect_dagster.herder.distributed.config import DistributedConfig
from connect_dagster.kafka.groups import DescribedMember, live_group, recorded_group
from connect_dagster.protocol.group_metadata import GroupMember, GroupMetadata
from connect_dagster.protocol.group_structs import Assignment, WorkerMetadata
from tests.distributed_process import DistributedProcess
from tests.integration.cluster.seed_workers import started

CLIENT_ID = "this_is_client_id"
MEMBER_ID = re.compile(CLIENT_ID + r"-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
JSON_CONVERTER = "org.apache.kafka.connect.json.JsonConverter"
SEED = {
    "bootstrap.servers": "kafka1:9091,kafka2:9091",
    "group.id": "connect",
    "client.id": CLIENT_ID,
    "rest.port": "8083",
    "offset.storage.topic": "test-connect-offsets",
    "config.storage.topic": "test-connect-configs",
    "status.storage.topic": "test-connect-status",
    "offset.storage.replication.factor": "1",
    "config.storage.replication.factor": "1",
    "status.storage.replication.factor": "1",
    "plugin.path": "/tmp/",
    "tasks.max": "1",
    "key.converter": JSON_CONVERTER,
    "value.converter": JSON_CONVERTER,
    "key.converter.schemas.enable": "false",
    "value.converter.schemas.enable": "false",
}


@dataclass(frozen=True, slots=True)
class SeedGroup:
    """One worker of group `connect`, and what is needed for more."""

    first: DistributedProcess
    bootstrap_servers: str
    folder: Path

    def worker(self, name: str) -> DistributedProcess:
        """Another worker, not started."""
        return DistributedProcess(moved(self.bootstrap_servers, self.folder), self.folder / name)

    def record(self) -> GroupMetadata:
        """The group's last record in `__consumer_offsets`."""
        return recorded_group(self.bootstrap_servers, "connect")


def facts(member: DescribedMember | GroupMember) -> tuple[str, str, bytes, bytes]:
    """What both sources tell of a member."""
    return member.client_id, member.client_host, member.subscription, member.assignment


def moved(bootstrap_servers: str, folder: Path) -> dict[str, str]:
    """The seed's file with addresses and folders of this machine."""
    return {**SEED, "bootstrap.servers": bootstrap_servers, "plugin.path": str(folder / "plugins")}


@pytest.fixture(scope="module")
def group(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeedGroup]:
    # A broker of its own: the names of the seed's group and topics are anybody's.
    folder = tmp_path_factory.mktemp("seed-group")
    (folder / "plugins").mkdir()
    with EmbeddedBroker(folder / "broker", 0, heap="512m") as broker:
        servers = broker.bootstrap_servers
        first = DistributedProcess(moved(servers, folder), folder / "first")
        with started(first):
            yield SeedGroup(first, servers, folder)


def test_s2_18_the_port_is_javas_default() -> None:
    assert DistributedConfig.parse(SEED).listeners == ("http://:8083",)


def test_s2_18_the_seeds_worker_file_runs(group: SeedGroup) -> None:
    assert group.first.call("GET", "/").status == 200
    unused = "] WARN These configurations '[rest.port, tasks.max]' were supplied but are not used yet. ("
    log = group.first.log()
    assert log.count(unused) == log.count("rest.port") == log.count("tasks.max") == 1
    assert f"[Worker clientId={CLIENT_ID}, groupId=connect] Session key updated (" in log


def test_s2_25_a_lone_worker_is_leader_and_only_member(group: SeedGroup) -> None:
    record = group.record()
    (member,) = record.members
    assert (record.protocol_type, record.protocol, record.leader) == ("connect", "sessioned", member.member_id)
    assert MEMBER_ID.fullmatch(member.member_id)
    assert (member.client_id, member.client_host) == (CLIENT_ID, f"/{HOST}")
    assert (member.rebalance_timeout, member.session_timeout) == (60_000, 10_000)


@pytest.mark.nightly
def test_s2_25_four_workers_with_one_client_id(group: SeedGroup) -> None:
    before = group.record()
    others = [group.worker(name) for name in ("second", "third", "fourth")]
    with started(*others):
        record = group.record()
        described = live_group(group.bootstrap_servers, "connect")
        urls = [f"{worker.rest_url}/" for worker in (group.first, *others)]
    members = {member.member_id: member for member in record.members}
    assert len(members) == 4
    assert all(MEMBER_ID.fullmatch(id) for id in members)
    assert before.members[0].member_id in members
    assert record.generation > before.generation
    assert sorted(WorkerMetadata.decode(member.subscription).url for member in members.values()) == sorted(urls)
    told = [Assignment.decode(member.assignment) for member in members.values()]
    assert {assignment.leader for assignment in told} == {record.leader}
    assert record.leader in members
    assert {assignment.leader_url for assignment in told} <= set(urls)
    assert described.state == "Stable"
    assert {one.member_id: facts(one) for one in described.members} == {id: facts(one) for id, one in members.items()}
