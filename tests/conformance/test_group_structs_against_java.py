"""Kafka's IncrementalCooperativeConnectProtocol reads the structs of Kafka 3.1.2, and those that ours writes."""

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from connect_dagster.embedded.jars import resolve
from connect_dagster.embedded.java import find_java
from connect_dagster.protocol.group_structs import (
    Assignment,
    ConnectorTasks,
    ConnectProtocol,
    WorkerMetadata,
    offers,
    work_of,
)
from tests.golden_answers import Golden, digest
from tests.unit.protocol.seed_groups import four_workers, one_worker, structs

PROGRAM = Path(__file__).with_name("GroupStructsInJava.java")
URL = "http://worker:8083/"
OURS = Assignment(
    2,
    0,
    "leader-1",
    URL,
    17,
    (ConnectorTasks("c", (-1, 0, 1)), ConnectorTasks("d", (2,))),
    (ConnectorTasks("e", (-1,)),),
    3000,
)
# What Java makes of a null allocation: `ExtendedAssignment.empty()`.
NO_ALLOCATION: dict[str, Any] = {
    "version": 1,
    "error": 0,
    "leader": None,
    "leader_url": None,
    "offset": -1,
    "assigned": [[], []],
    "revoked": [[], []],
    "delay": 0,
}


def test_s2_24_java_reads_the_seeds_metadata(golden: Golden) -> None:
    datas = [data for group in (one_worker(), four_workers()) for data in structs(group, "subscription")]
    found = [WorkerMetadata.decode(data) for data in datas]
    # Java's workers of that time put an assignment of version 1 into metadata of version 2.
    assert [(one.version, one.allocation and one.allocation.version) for one in found] == [
        (2, None),
        (2, 1),
        (2, None),
        (2, 1),
        (2, 1),
    ]
    for java, ours in zip(read_by_java(golden, "metadata", datas), found, strict=True):
        assert without_bytes(java) == metadata_fields(ours)


def test_s2_24_java_reads_the_seeds_assignments(golden: Golden) -> None:
    datas = [data for group in (one_worker(), four_workers()) for data in structs(group, "assignment")]
    found = [Assignment.decode(data) for data in datas]
    assert [one.version for one in found] == [1] * 5
    for java, ours in zip(read_by_java(golden, "assignment", datas), found, strict=True):
        assert without_bytes(java) == assignment_fields(ours)


def test_s2_24_java_reads_what_our_member_and_leader_write(golden: Golden) -> None:
    first, later = (offers(ConnectProtocol.SESSIONED, URL, 5, held)[0][1] for held in (None, OURS))
    written = [one.encode() for one in (first, later)]
    for java, ours, data in zip(read_by_java(golden, "metadata", written), (first, later), written, strict=True):
        assert without_bytes(java) == metadata_fields(ours)
        assert java["written"] == data.hex()
    (java,) = read_by_java(golden, "assignment", [OURS.encode()])
    assert without_bytes(java) == assignment_fields(OURS)
    assert java["written"] == OURS.encode().hex()


def read_by_java(golden: Golden, kind: str, datas: Sequence[bytes]) -> list[dict[str, Any]]:
    """Return the fields that Java reads, and the bytes that it writes of them."""
    lines = [f"{kind} {data.hex()}" for data in datas]
    return list(golden.answer(f"{kind} {digest(lines)}", lambda: _ask(lines)))


def without_bytes(java: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in java.items() if name != "written"}


def metadata_fields(metadata: WorkerMetadata) -> dict[str, Any]:
    allocation = NO_ALLOCATION if metadata.allocation is None else assignment_fields(metadata.allocation)
    return {"url": metadata.url, "offset": metadata.offset, "allocation": allocation}


def assignment_fields(assignment: Assignment) -> dict[str, Any]:
    return {
        "version": assignment.version,
        "error": assignment.error,
        "leader": assignment.leader,
        "leader_url": assignment.leader_url,
        "offset": assignment.offset,
        "assigned": _work(assignment.assigned),
        "revoked": _work(assignment.revoked),
        "delay": assignment.delay,
    }


def _work(entries: Sequence[ConnectorTasks] | None) -> list[Any]:
    work = work_of(entries)
    return [list(work.connectors), [[task.connector, task.task] for task in work.tasks]]


def _ask(lines: Sequence[str]) -> list[dict[str, Any]]:
    command = [str(find_java()), "-cp", os.pathsep.join(map(str, resolve("java-connect"))), str(PROGRAM)]
    done = subprocess.run(command, input="\n".join(lines).encode(), capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return [json.loads(line) for line in done.stdout.decode().splitlines()]
