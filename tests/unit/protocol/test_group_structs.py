"""Metadata and assignments of Connect's workers: real bytes of Kafka 3.1.2 and 4.3.1, and structs of any content."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect_dagster.protocol.group_structs import (
    Assignment,
    ConnectorTasks,
    ConnectProtocol,
    WorkerMetadata,
    assigned_entries,
    offers,
    revoked_entries,
    work_of,
)
from connect_dagster.protocol.states import TaskId
from connect_dagster.protocol.wire import MalformedBytes
from connect_dagster.protocol.work import Work
from tests.unit.protocol.seed_groups import LEADER, four_workers, one_worker, structs

# What one worker of Kafka 4.3.1 joined its group with, and which assignment it had got before.
JAVA_4_ASSIGNMENT = bytes.fromhex(
    "0002 0000 003c 636f6e6e6563742d6c6f63616c686f73743a33383038332d66653738613134312d366238322d343861622d613034332d"
    "633566323335373935623031 0017 687474703a2f2f6c6f63616c686f73743a33383038332f 00000000000000b3"
    "00000000 00000000 00000000"
)
JAVA_4_METADATA = (
    bytes.fromhex("0002 0017 687474703a2f2f6c6f63616c686f73743a33383038332f 00000000000000b3 0000006f")
    + JAVA_4_ASSIGNMENT
)

URL = "http://worker:8083/"
SOME = (ConnectorTasks("c", (-1, 0, 1)), ConnectorTasks("d", (2,)))
FULL = Assignment(2, 0, "leader-1", URL, 17, SOME, (ConnectorTasks("e", (-1,)),), 3000)

texts = st.text(max_size=12)
int64s = st.integers(-(1 << 63), (1 << 63) - 1)
entries = st.lists(
    st.builds(ConnectorTasks, texts, st.lists(st.integers(-1, 1 << 20), max_size=4).map(tuple)), max_size=4
).map(tuple)
eager_assignments = st.builds(Assignment, st.just(0), st.integers(0, 1), texts, texts, int64s, entries)
cooperative_assignments = st.builds(
    Assignment,
    st.integers(1, 2),
    st.integers(0, 1),
    texts,
    texts,
    int64s,
    st.none() | entries,
    st.none() | entries,
    st.integers(0, (1 << 31) - 1),
)
assignments = eager_assignments | cooperative_assignments
metadata = st.builds(WorkerMetadata, st.just(0), texts, int64s) | st.builds(
    WorkerMetadata, st.integers(1, 2), texts, int64s, st.none() | assignments
)


def test_s2_20_one_workers_subscription() -> None:
    (data,) = structs(one_worker(), "subscription")
    assert len(data) == 39
    assert data.endswith(b"\xff\xff\xff\xff")
    assert WorkerMetadata.decode(data) == WorkerMetadata(2, "http://172.19.0.6:8083/", 2, None)


def test_s2_20_one_workers_assignment() -> None:
    (data,) = structs(one_worker(), "assignment")
    assert len(data) == 105
    assert Assignment.decode(data) == Assignment(1, 0, LEADER, "http://172.19.0.6:8083/", 2, (), (), 0)


def test_s2_22_four_workers_subscriptions() -> None:
    encoded = structs(four_workers(), "subscription")
    assert [len(data) for data in encoded] == [144, 39, 144, 144]
    allocation = Assignment(1, 0, LEADER, "http://172.19.0.6:8083/", 3, (), (), 0)
    assert [WorkerMetadata.decode(data) for data in encoded] == [
        WorkerMetadata(2, f"http://172.19.0.{host}:8083/", 3, None if host == 9 else allocation)
        for host in (8, 9, 6, 7)
    ]


def test_s2_22_four_workers_assignments() -> None:
    encoded = structs(four_workers(), "assignment")
    assert (len(encoded), len(set(encoded))) == (4, 1)
    assert Assignment.decode(encoded[0]) == Assignment(1, 0, LEADER, "http://172.19.0.6:8083/", 3, (), (), 0)


@pytest.mark.parametrize("group", [one_worker(), four_workers()], ids=["one", "four"])
def test_s2_23_all_structs_come_back_equal(group: dict[str, object]) -> None:
    for data in structs(group, "subscription"):
        assert WorkerMetadata.decode(data).encode() == data
    for data in structs(group, "assignment"):
        assert Assignment.decode(data).encode() == data


def test_s2_23_bytes_of_java_4_come_back_equal() -> None:
    found = WorkerMetadata.decode(JAVA_4_METADATA)
    member = "connect-localhost:38083-fe78a141-6b82-48ab-a043-c5f235795b01"
    url = "http://localhost:38083/"
    assert found == WorkerMetadata(2, url, 0xB3, Assignment(2, 0, member, url, 0xB3, (), (), 0))
    assert found.encode() == JAVA_4_METADATA
    assert Assignment.decode(JAVA_4_ASSIGNMENT) == found.allocation


def test_s2_23_a_cut_struct_says_where() -> None:
    (subscription,) = structs(one_worker(), "subscription")
    with pytest.raises(MalformedBytes, match="string of length 23 where 6 bytes are left, at byte 2 of 10"):
        WorkerMetadata.decode(subscription[:10])
    allocated = structs(four_workers(), "subscription")[0]
    with pytest.raises(MalformedBytes, match="byte string of length 105 where 104 bytes are left, at byte 35 of 143"):
        WorkerMetadata.decode(allocated[:-1])
    with pytest.raises(MalformedBytes, match="2 bytes more than the message has, at byte 39 of 41"):
        WorkerMetadata.decode(subscription + b"\x00\x00")


def test_s2_24_what_a_sessioned_worker_offers() -> None:
    old = Assignment(1, 0, LEADER, URL, 3, (), (), 0)
    offered = offers(ConnectProtocol.SESSIONED, URL, 5, old)
    assert offered == [
        (ConnectProtocol.SESSIONED, WorkerMetadata(2, URL, 5, replace(old, version=2))),
        (ConnectProtocol.COMPATIBLE, WorkerMetadata(1, URL, 5, old)),
        (ConnectProtocol.EAGER, WorkerMetadata(0, URL, 5, None)),
    ]
    assert [WorkerMetadata.decode(each.encode()) for _, each in offered] == [each for _, each in offered]


def test_s2_24_what_a_lone_worker_first_offers() -> None:
    _, first = offers(ConnectProtocol.SESSIONED, "http://a:1/", -1, None)[0]
    assert first.encode() == bytes.fromhex("0002 000b 687474703a2f2f613a312f ffffffffffffffff ffffffff")


def test_s2_24_an_assignment_without_work_has_empty_arrays() -> None:
    empty = Assignment(2, 0, "m", "u", 1, assigned_entries(Work()), revoked_entries(Work()))
    assert empty.encode() == bytes.fromhex("0002 0000 0001 6d 0001 75 0000000000000001 00000000 00000000 00000000")


def test_bytes_of_each_version() -> None:
    head = "0000 0008 6c65616465722d31 0013 687474703a2f2f776f726b65723a383038332f 0000000000000011"
    assigned = "00000002 0001 63 00000003 ffffffff 00000000 00000001 0001 64 00000001 00000002"
    revoked = "00000001 0001 65 00000001 ffffffff"
    assert FULL.encode() == bytes.fromhex(f"0002 {head} {assigned} {revoked} 00000bb8")
    assert replace(FULL, version=1).encode() == bytes.fromhex(f"0001 {head} {assigned} {revoked} 00000bb8")
    eager = replace(FULL, version=0, revoked=None, delay=0)
    assert eager.encode() == bytes.fromhex(f"0000 {head} {assigned}")


def test_null_arrays_stay_null() -> None:
    encoded = bytes.fromhex("0001 0000 0000 0000 0000000000000000 ffffffff ffffffff 00000000")
    found = Assignment.decode(encoded)
    assert (found.assigned, found.revoked) == (None, None)
    assert found.encode() == encoded
    assert work_of(found.assigned) == Work()


@pytest.mark.parametrize(
    ("cut", "lacking"), [(4, {"delay"}), (8, {"delay", "revoked"}), (12, {"delay", "revoked", "assigned"})]
)
def test_fields_that_the_end_lacks_are_null_as_in_java(cut: int, lacking: set[str]) -> None:
    whole = Assignment(1, 0, "m", "u", 1, (), (), 7)
    nulls: dict[str, int | None] = {"assigned": None, "revoked": None, "delay": 0}
    expected = replace(whole, **{name: nulls[name] for name in lacking})  # type: ignore[arg-type]
    assert Assignment.decode(whole.encode()[:-cut]) == expected


def test_an_allocation_that_the_end_lacks_is_null_as_in_java() -> None:
    whole = WorkerMetadata(2, URL, 4, None)
    assert WorkerMetadata.decode(whole.encode()[:-4]) == whole


@pytest.mark.parametrize("version", [-1, 3])
def test_an_unknown_version_is_refused(version: int) -> None:
    data = version.to_bytes(2, signed=True)
    with pytest.raises(MalformedBytes, match=f"metadata of version {version}, where 0 to 2 are known, at byte 0"):
        WorkerMetadata.decode(data)
    with pytest.raises(MalformedBytes, match=f"assignment of version {version}, where 0 to 2 are known, at byte 0"):
        Assignment.decode(data)


def test_version_0_refuses_what_it_has_no_field_for() -> None:
    with pytest.raises(ValueError, match="no allocation"):
        WorkerMetadata(0, URL, 1, FULL).encode()
    for wrong in (replace(FULL, version=0), replace(FULL, version=0, assigned=None, revoked=None, delay=0)):
        with pytest.raises(ValueError, match="version 0"):
            wrong.encode()


@given(assignments)
def test_any_assignment_comes_back(assignment: Assignment) -> None:
    assert Assignment.decode(assignment.encode()) == assignment


@given(metadata)
def test_any_metadata_comes_back(given_metadata: WorkerMetadata) -> None:
    assert WorkerMetadata.decode(given_metadata.encode()) == given_metadata


@given(eager_assignments)
def test_every_cut_of_version_0_says_where(assignment: Assignment) -> None:
    encoded = assignment.encode()
    for size in range(len(encoded)):
        with pytest.raises(MalformedBytes, match=f"of {size}$"):
            Assignment.decode(encoded[:size])


@given(cooperative_assignments)
def test_every_cut_is_malformed_but_between_the_fields_that_may_lack(assignment: Assignment) -> None:
    encoded = assignment.encode()
    null = 4  # bytes of a null array, and of the delay
    may_end = {
        len(replace(assignment, assigned=None, revoked=None).encode()) - 3 * null,
        len(replace(assignment, revoked=None).encode()) - 2 * null,
        len(encoded) - null,
    }
    for size in set(range(len(encoded))) - may_end:
        with pytest.raises(MalformedBytes, match=f"of {size}$"):
            Assignment.decode(encoded[:size])
    for size in may_end:
        assert Assignment.decode(encoded[:size]).offset == assignment.offset


@pytest.mark.parametrize("struct", [Assignment, WorkerMetadata])
@given(tail=st.binary(max_size=40))
def test_any_bytes_of_version_0_are_malformed_or_come_back_equal(
    struct: type[Assignment] | type[WorkerMetadata], tail: bytes
) -> None:
    encoded = b"\x00\x00" + tail
    try:
        found = struct.decode(encoded)
    except MalformedBytes:
        return
    assert found.encode() == encoded


@pytest.mark.parametrize(
    ("setting", "names"),
    [
        ("sessioned", ["sessioned", "compatible", "default"]),
        ("compatible", ["compatible", "default"]),
        ("eager", ["default"]),
        ("EAGER", ["default"]),
    ],
)
def test_protocols_offered_for_a_setting(setting: str, names: list[str]) -> None:
    offered = ConnectProtocol.of_setting(setting).offered
    assert [each.wire_name for each in offered] == names
    assert [ConnectProtocol.of_wire_name(each.wire_name) for each in offered] == list(offered)
    assert [each.version for each in offered] == list(range(len(names) - 1, -1, -1))


def test_an_unknown_protocol_is_named_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="'default' is none of Connect's protocols: sessioned, compatible, eager"):
        ConnectProtocol.of_setting("default")
    with pytest.raises(ValueError, match="'eager' is none of Connect's protocols: sessioned, compatible, default"):
        ConnectProtocol.of_wire_name("eager")


def test_work_becomes_one_entry_for_each_connector() -> None:
    work = Work(("b", "a", "b"), (TaskId("a", 1), TaskId("c", 0), TaskId("a", 0)))
    expected = (ConnectorTasks("b", (-1,)), ConnectorTasks("a", (-1, 1, 0)), ConnectorTasks("c", (0,)))
    assert revoked_entries(work) == expected
    # Java holds the assigned connectors in a hash set: "a" hashes to 97, "b" to 98.
    assert assigned_entries(work) == (expected[1], expected[0], expected[2])


@given(st.lists(texts, unique=True, max_size=30), st.lists(st.builds(TaskId, texts, st.integers(0, 9)), max_size=9))
def test_work_comes_back_from_its_entries(connectors: list[str], tasks: list[TaskId]) -> None:
    work = Work(tuple(connectors), tuple(tasks))
    for entries_of in (assigned_entries, revoked_entries):
        found = work_of(entries_of(work))
        assert sorted(found.connectors) == sorted(connectors)
        assert sorted(found.tasks) == sorted(tasks)
    assert work_of(revoked_entries(Work(tuple(connectors)))).connectors == tuple(connectors)
