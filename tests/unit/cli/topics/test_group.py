"""`connect-dagster group describe --record`: dumps in every form, of groups of every kind."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from connect_dagster.cli.main import main
from connect_dagster.cli.topics.group import group_json
from connect_dagster.cli.topics.group_dump import read_dump
from connect_dagster.kafka.groups import DescribedGroup, DescribedMember
from connect_dagster.protocol.consumer_structs import ConsumerAssignment, ConsumerSubscription, TopicPartitions
from connect_dagster.protocol.group_metadata import GroupKey, GroupMember, GroupMetadata, OffsetCommitKey
from connect_dagster.protocol.group_structs import Assignment, ConnectorTasks, WorkerMetadata
from tests.unit.protocol.seed_groups import FOUR_WORKERS_FILE, LEADER, ONE_WORKER_FILE, four_workers, one_worker

URL = "http://172.19.0.6:8083/"


def run(*words: str, given: str | bytes = "") -> Result:
    return CliRunner().invoke(main, ["group", "describe", *words], input=given)


def described(given: str | bytes) -> dict[str, Any]:
    ran = run("--record", "-", given=given)
    assert ran.exit_code == 0, ran.output
    return dict(json.loads(ran.stdout))


def refusal(given: str | bytes) -> str:
    ran = run("--record", "-", given=given)
    assert ran.exit_code == 1
    assert ran.stdout == ""
    return ran.stderr


def without_structs(group: dict[str, Any]) -> dict[str, Any]:
    """All but what is decoded, and what the seed's records do not have."""
    members = [{**member, "subscription": None, "assignment": None} for member in group["members"]]
    return {name: value for name, value in group.items() if name not in ("group", "state")} | {"members": members}


def assignment(offset: int) -> dict[str, Any]:
    return {
        "version": 1,
        "error": 0,
        "leader": LEADER,
        "leader_url": URL,
        "config_offset": offset,
        "assigned": [],
        "revoked": [],
        "delay": 0,
    }


def test_s2_19_one_worker() -> None:
    found = described(ONE_WORKER_FILE.read_text())
    assert found["group"] == "connect"
    assert without_structs(found) == without_structs(one_worker())
    assert found["generation"] == 5
    assert found["current_state_timestamp"] == 1610703734342
    assert found["leader"] == found["members"][0]["member_id"] == LEADER


def test_s2_20_one_workers_structs() -> None:
    (member,) = described(ONE_WORKER_FILE.read_text())["members"]
    assert member["subscription"] == {"version": 2, "url": URL, "config_offset": 2, "allocation": None}
    assert member["assignment"] == assignment(2)


def test_s2_21_four_workers() -> None:
    ran = run("--record", str(FOUR_WORKERS_FILE))
    found = json.loads(ran.stdout)
    assert found["group"] is None
    assert without_structs(found) == without_structs(four_workers())
    assert (found["generation"], found["current_state_timestamp"], found["leader"]) == (7, 1610704896695, LEADER)
    assert [(each["rebalance_timeout"], each["session_timeout"]) for each in found["members"]] == [(60000, 10000)] * 4


def test_s2_22_four_workers_structs() -> None:
    members = described(FOUR_WORKERS_FILE.read_text())["members"]
    assert [member["assignment"] for member in members] == [assignment(3)] * 4
    assert [member["subscription"] for member in members] == [
        {
            "version": 2,
            "url": f"http://172.19.0.{host}:8083/",
            "config_offset": 3,
            "allocation": None if host == 9 else assignment(3),
        }
        for host in (8, 9, 6, 7)
    ]


@pytest.mark.parametrize("file", [ONE_WORKER_FILE, FOUR_WORKERS_FILE], ids=["one", "four"])
def test_s2_23_the_value_in_other_forms_is_the_same_group(file: Path) -> None:
    _, group = read_dump(file.read_bytes())
    value = group.encode()
    in_hex, in_base64 = value.hex(), base64.b64encode(value).decode()
    shown = described(file.read_bytes()) | {"group": None}
    assert described(value) == shown
    assert described(f"{in_hex[:7]} {in_hex[7:]}\n") == shown
    assert described(f"{in_base64[:60]}\n{in_base64[60:]}\n") == shown


def test_s2_25_a_record_as_topic_read_prints_it() -> None:
    _, group = read_dump(ONE_WORKER_FILE.read_bytes())
    record = {
        "topic": "__consumer_offsets",
        "key": GroupKey("connect").encode().decode(),
        "payload": base64.b64encode(group.encode()).decode(),
        "payload_encoding": "base64",
    }
    assert described(json.dumps(record)) == described(ONE_WORKER_FILE.read_text())


def test_s2_25_a_record_as_kafkas_formatter_prints_it() -> None:
    def camel(fields: dict[str, Any]) -> dict[str, Any]:
        return {
            "".join(word.capitalize() if place else word for place, word in enumerate(name.split("_"))): value
            for name, value in fields.items()
        }

    data = camel({**one_worker(), "members": [camel(member) for member in one_worker()["members"]]})
    assert {"protocolType", "currentStateTimestamp"} < data.keys()
    record = {"key": {"type": 2, "data": {"group": "connect"}}, "value": {"version": 3, "data": data}}
    assert described(json.dumps(record)) == described(ONE_WORKER_FILE.read_text())


def test_all_of_an_assignment_is_shown() -> None:
    work = (ConnectorTasks("c", (-1, 0)),)
    running = Assignment(2, 1, "m", URL, 9, None, work, 3000)
    member = GroupMember("m", "c", "/h", 1, WorkerMetadata(2, URL, 9, running).encode(), running.encode())
    found = described(GroupMetadata(3, "connect", 1, "sessioned", "m", (member,)).encode())["members"][0]
    assert found["assignment"] == {
        "version": 2,
        "error": 1,
        "leader": "m",
        "leader_url": URL,
        "config_offset": 9,
        "assigned": None,
        "revoked": [{"connector": "c", "tasks": [-1, 0]}],
        "delay": 3000,
    }
    assert found["subscription"]["allocation"] == found["assignment"]


def test_a_group_of_consumers() -> None:
    partitions = (TopicPartitions("t", (0, 2)),)
    subscription = ConsumerSubscription(3, ("t", "u"), b"\xff", partitions, 4, "rack")
    given = ConsumerAssignment(1, partitions, None)
    member = GroupMember("m", "c", "/h", 1, subscription.encode(), given.encode(), 2, "static")
    found = described(GroupMetadata(3, "consumer", 5, "range", "m", (member,), 6).encode())
    assert found["members"][0]["group_instance_id"] == "static"
    assert found["members"][0]["subscription"] == {
        "version": 3,
        "topics": ["t", "u"],
        "user_data": "/w==",
        "owned_partitions": [{"topic": "t", "partitions": [0, 2]}],
        "generation": 4,
        "rack": "rack",
    }
    assert found["members"][0]["assignment"] == {
        "version": 1,
        "assigned_partitions": [{"topic": "t", "partitions": [0, 2]}],
        "user_data": None,
    }


def test_bytes_of_another_protocol_type_are_in_base64() -> None:
    member = GroupMember("m", "c", "/h", 1, b'{"host":"a"}', b"\x00\xff")
    found = described(GroupMetadata(3, "sr", 5, "v0", "m", (member,), 6).encode())
    assert found["members"][0]["subscription"] == base64.b64encode(b'{"host":"a"}').decode()
    assert found["members"][0]["assignment"] == "AP8="


def test_a_group_without_members() -> None:
    found = described(GroupMetadata(3, "connect", 8, None, None, (), 1700000000000).encode())
    assert (found["members"], found["leader"], found["protocol"], found["generation"]) == ([], None, None, 8)


def test_a_leader_that_only_assignments_name() -> None:
    def member(name: str, given: bytes) -> DescribedMember:
        return DescribedMember(name, None, "c", "/h", WorkerMetadata(2, URL, 1).encode(), given)

    members = (member("a", Assignment(2, 0, "b", URL, 1, ()).encode()), member("b", b""))
    found = json.loads(group_json(DescribedGroup("g", "connect", "sessioned", members, state="Stable")))
    assert (found["leader"], found["generation"], found["members"][1]["assignment"]) == ("b", None, None)


def test_a_malformed_struct_names_the_member_and_the_place() -> None:
    group = one_worker()
    group["members"][0]["assignment"] = group["members"][0]["assignment"][:40]
    assert refusal(json.dumps(group)) == (
        f"Error: -: assignment of member '{LEADER}' is malformed: "
        "string of length 54 where 24 bytes are left, at byte 4 of 30.\n"
    )


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("", "a number of 2 bytes was expected, but the bytes end, at byte 0 of 0."),
        ("00030007636f6e6e", "string of length 7 where 4 bytes are left, at byte 2 of 8."),
        ("0009", "group metadata of version 9, where 0 to 4 are known, at byte 0 of 2."),
        ("AAk=", "group metadata of version 9, where 0 to 4 are known, at byte 0 of 2."),
        ("who knows?", "neither JSON nor the hex or base64 of a group's record: 'whoknows?'."),
        ('{"protocol_type": ', "not JSON: Expecting value"),
        ("[{}]", "JSON of a record is an object, not '[{}]'."),
        ("{} {}", "2 JSON objects, where the key and the value of one record are expected."),
        ('{"generation": "7"}', "generation: Input should be a valid integer"),
        ('{"value": null}', "the record's value is null: the group was deleted."),
        (
            json.dumps({"key": OffsetCommitKey("g", "t", 7).encode().decode(), "payload": "x"}),
            "the record is not of a group, but an offset that group 'g' committed for partition 7 of topic 't'.",
        ),
        (
            json.dumps({"key": "\x00\x03\x00\x01g", "payload": "x"}),
            "the record is not of a group, but a record of kind 3, ConsumerGroupMetadata.",
        ),
        (
            '{"key": {"type": 1, "data": {"group": "g", "topic": "t", "partition": 0}}, "value": {}}',
            "the record is not of a group, but an offset that group 'g' committed for topic 't'.",
        ),
        (json.dumps({"key": GroupKey("g").encode().decode(), "payload": None}), "the group was deleted."),
    ],
)
def test_what_is_no_record_of_a_group_is_said(given: str, reason: str) -> None:
    assert reason in refusal(given)


def test_a_file_that_is_not_there_is_named() -> None:
    ran = run("--record", "no-such-file")
    assert ran.exit_code == 2
    assert "File 'no-such-file' does not exist" in ran.stderr


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ([], "Name a GROUP, or a dump with --record."),
        (["connect", "--record", "-"], "--record excludes GROUP and --from-offsets-topic"),
        (["--from-offsets-topic", "--record", "-"], "--record excludes GROUP and --from-offsets-topic"),
    ],
)
def test_options_that_do_not_fit_together(words: list[str], reason: str) -> None:
    ran = run(*words)
    assert ran.exit_code == 2
    assert reason in ran.stderr
