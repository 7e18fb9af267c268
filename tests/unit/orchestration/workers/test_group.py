import base64
from dataclasses import replace

from connect_dagster.kafka.groups import DescribedGroup, DescribedMember
from connect_dagster.orchestration.workers.group import MemberDescription, worker_group
from connect_dagster.protocol.group_structs import CONNECTOR_ITSELF, Assignment, ConnectorTasks, WorkerMetadata
from tests.unit.protocol.seed_groups import LEADER, four_workers

URL = "http://10.0.0.1:8083/"


def seed_group() -> DescribedGroup:
    """The seed's group of four, as a coordinator would describe it."""
    record = four_workers()
    members = tuple(
        DescribedMember(
            member["member_id"],
            None,
            member["client_id"],
            member["client_host"],
            base64.b64decode(member["subscription"]),
            base64.b64decode(member["assignment"]),
        )
        for member in record["members"]
    )
    return DescribedGroup("connect", "connect", "sessioned", members, state="Stable")


def one_member(metadata: WorkerMetadata | None, assignment: Assignment | None) -> MemberDescription:
    described = DescribedMember(
        "m", None, "c", "/h", metadata.encode() if metadata else b"", assignment.encode() if assignment else b""
    )
    (member,) = worker_group(DescribedGroup("g", "connect", "sessioned", (described,), state="Stable"), 3).members
    return member


def tasks(connector: str, *numbers: int) -> ConnectorTasks:
    return ConnectorTasks(connector, numbers)


def test_s3_05_the_seeds_group_of_four() -> None:
    group = worker_group(seed_group(), 7)
    assert (group.group_id, group.state, group.protocol, group.generation) == ("connect", "Stable", "sessioned", 7)
    assert (group.leader, group.leader_url, group.config_offset) == (LEADER, "http://172.19.0.6:8083/", 3)
    assert [(member.client_host, member.rest_url, member.leader, member.config_offset) for member in group.members] == [
        ("/172.19.0.6", "http://172.19.0.6:8083/", True, 3),
        ("/172.19.0.7", "http://172.19.0.7:8083/", False, 3),
        ("/172.19.0.8", "http://172.19.0.8:8083/", False, 3),
        ("/172.19.0.9", "http://172.19.0.9:8083/", False, 3),
    ]
    assert all(member.generation == 7 and not member.connectors for member in group.members)


def test_work_is_what_it_had_less_what_was_revoked_and_what_is_new() -> None:
    had = Assignment(2, 0, "m", URL, 5, (tasks("a", CONNECTOR_ITSELF, 0, 1), tasks("b", CONNECTOR_ITSELF)), ())
    told = Assignment(2, 0, "m", URL, 9, (tasks("c", CONNECTOR_ITSELF, 0),), (tasks("a", 1), tasks("b", -1)))
    member = one_member(WorkerMetadata(2, URL, 5, had), told)
    assert (member.connectors, member.tasks) == (("a", "c"), ("a-0", "c-0"))
    assert (member.leader, member.config_offset) == (True, 5)


def test_in_the_eager_protocol_it_is_told_everything() -> None:
    told = Assignment(0, 0, "other", URL, 9, (tasks("a", CONNECTOR_ITSELF, 0, 10, 2),))
    member = one_member(WorkerMetadata(0, URL, 5), told)
    assert (member.connectors, member.tasks, member.leader) == (("a",), ("a-0", "a-2", "a-10"), False)


def test_a_group_that_forms_tells_little() -> None:
    member = one_member(None, None)
    assert (member.rest_url, member.config_offset, member.connectors, member.leader) == (None, None, (), False)
    group = worker_group(replace(seed_group(), members=(), state="Empty"), None)
    assert (group.leader, group.leader_url, group.config_offset, group.members) == (None, None, None, ())
