"""Records of `__consumer_offsets`: keys of all kinds, groups in each version of the value."""

import base64
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect_dagster.protocol.group_metadata import (
    GroupKey,
    GroupMember,
    GroupMetadata,
    OffsetCommitKey,
    OtherKey,
    decode_key,
)
from connect_dagster.protocol.wire import MalformedBytes
from tests.unit.protocol.seed_groups import LEADER, four_workers, one_worker

int32s = st.integers(-(1 << 31), (1 << 31) - 1)
texts = st.text(max_size=12)


def _members(version: int) -> st.SearchStrategy[GroupMember]:
    return st.builds(
        GroupMember,
        member_id=texts,
        client_id=texts,
        client_host=texts,
        session_timeout=int32s,
        subscription=st.binary(),
        assignment=st.binary(),
        rebalance_timeout=int32s if version >= 1 else st.just(-1),
        group_instance_id=st.none() | texts if version >= 3 else st.none(),
        tags=st.sampled_from([b"\x00", bytes.fromhex("01 05 02 abcd")]) if version >= 4 else st.just(b"\x00"),
    )


def _groups(version: int) -> st.SearchStrategy[GroupMetadata]:
    return st.builds(
        GroupMetadata,
        version=st.just(version),
        protocol_type=texts,
        generation=int32s,
        protocol=st.none() | texts,
        leader=st.none() | texts,
        members=st.lists(_members(version), max_size=4).map(tuple),
        current_state_timestamp=st.integers(-(1 << 63), (1 << 63) - 1) if version >= 2 else st.just(-1),
        tags=st.sampled_from([b"\x00", bytes.fromhex("01 00 01 ff")]) if version >= 4 else st.just(b"\x00"),
    )


groups = st.integers(0, 4).flatmap(_groups)


def _of_seed(group: dict[str, Any], version: int = 3) -> GroupMetadata:
    members = tuple(
        GroupMember(
            **{
                **member,
                "subscription": base64.b64decode(member["subscription"]),
                "assignment": base64.b64decode(member["assignment"]),
            }
        )
        for member in group["members"]
    )
    return GroupMetadata(version, **{**group, "members": members})


def test_s2_25_the_key_of_the_seeds_group() -> None:
    encoded = bytes.fromhex("0002 0007") + b"connect"
    assert decode_key(encoded) == GroupKey("connect")
    assert GroupKey("connect").encode() == encoded


@pytest.mark.parametrize(
    ("encoded", "key"),
    [
        ("0001 0001 67 0001 74 00000007", OffsetCommitKey("g", "t", 7)),
        ("0000 0001 67 0001 74 00000007", OffsetCommitKey("g", "t", 7, kind=0)),
        ("0003 0001 67", OtherKey(3, "ConsumerGroupMetadata", bytes.fromhex("0003 0001 67"))),
        ("0063 ff", OtherKey(99, "of an unknown kind", bytes.fromhex("0063 ff"))),
    ],
)
def test_other_keys_are_told_apart(encoded: str, key: OffsetCommitKey | OtherKey) -> None:
    assert decode_key(bytes.fromhex(encoded)) == key
    assert key.encode() == bytes.fromhex(encoded)


@pytest.mark.parametrize("key", [GroupKey("connect"), OffsetCommitKey("g", "t", 7)])
def test_a_cut_or_overlong_key_says_where(key: GroupKey | OffsetCommitKey) -> None:
    encoded = key.encode()
    for size in range(len(encoded)):
        with pytest.raises(MalformedBytes, match=f"of {size}$"):
            decode_key(encoded[:size])
    with pytest.raises(MalformedBytes, match=f"1 bytes more than the message has, at byte {len(encoded)}"):
        decode_key(encoded + b"\x00")


def test_s2_19_one_worker_as_kafka_3_wrote_it() -> None:
    group = _of_seed(one_worker())
    member = group.members[0]
    # A value of version 3, laid out by hand after Kafka's message definition.
    head = (
        b"\x00\x03\x00\x07connect\x00\x00\x00\x05\x00\x09sessioned"
        + b"\x00\x36" + LEADER.encode()
        + (1610703734342).to_bytes(8)
        + b"\x00\x00\x00\x01"
    )  # fmt: skip
    only = (
        b"\x00\x36" + LEADER.encode() + b"\xff\xff\x00\x11this_is_client_id\x00\x0b/172.19.0.6"
        + (60000).to_bytes(4) + (10000).to_bytes(4)
        + (39).to_bytes(4) + member.subscription
        + (105).to_bytes(4) + member.assignment
    )  # fmt: skip
    assert group.encode() == head + only
    assert GroupMetadata.decode(head + only) == group


def test_s2_21_four_workers_come_back_in_the_records_order() -> None:
    group = _of_seed(four_workers())
    found = GroupMetadata.decode(group.encode())
    assert found == group
    assert [(member.member_id[18:26], member.client_host) for member in found.members] == [
        ("e3d196a7", "/172.19.0.8"),
        ("5cf5be95", "/172.19.0.9"),
        ("41f8da84", "/172.19.0.6"),
        ("82b72367", "/172.19.0.7"),
    ]


# Of one group with one static member, as the message classes of Kafka 4.3.1 wrote it.
JAVA_VALUES = {
    0: (
        "00000007636f6e6e65637400000007000973657373696f6e6564ffff0000000100036d2d3100016300092f31302e302e302e"
        "31000027100000000373756200000000"
    ),
    1: (
        "00010007636f6e6e65637400000007000973657373696f6e6564ffff0000000100036d2d3100016300092f31302e302e302e"
        "310000ea60000027100000000373756200000000"
    ),
    2: (
        "00020007636f6e6e65637400000007000973657373696f6e6564ffff00000177056c86460000000100036d2d310001630009"
        "2f31302e302e302e310000ea60000027100000000373756200000000"
    ),
    3: (
        "00030007636f6e6e65637400000007000973657373696f6e6564ffff00000177056c86460000000100036d2d310006737461"
        "74696300016300092f31302e302e302e310000ea60000027100000000373756200000000"
    ),
    4: (
        "000408636f6e6e656374000000070a73657373696f6e65640000000177056c864602046d2d310773746174696302630a2f31"
        "302e302e302e310000ea600000271004737562010000"
    ),
}


@pytest.mark.parametrize("version", JAVA_VALUES)
def test_bytes_of_each_version_are_javas(version: int) -> None:
    member = GroupMember("m-1", "c", "/10.0.0.1", 10000, b"sub", b"", 60000 if version >= 1 else -1)
    if version >= 3:
        member = replace(member, group_instance_id="static")
    group = GroupMetadata(version, "connect", 7, "sessioned", None, (member,), 1610703734342 if version >= 2 else -1)
    assert group.encode() == bytes.fromhex(JAVA_VALUES[version])
    assert GroupMetadata.decode(group.encode()) == group


@given(groups)
def test_any_group_comes_back(group: GroupMetadata) -> None:
    assert GroupMetadata.decode(group.encode()) == group


@given(groups)
def test_every_cut_is_malformed_and_says_where(group: GroupMetadata) -> None:
    encoded = group.encode()
    for size in range(len(encoded)):
        with pytest.raises(MalformedBytes, match=f"of {size}$"):
            GroupMetadata.decode(encoded[:size])
    with pytest.raises(MalformedBytes, match=f"at byte {len(encoded)} of {len(encoded) + 1}"):
        GroupMetadata.decode(encoded + b"\x00")


@given(st.integers(0, 4), st.binary(max_size=60))
def test_any_bytes_are_malformed_or_come_back_equal(version: int, tail: bytes) -> None:
    encoded = version.to_bytes(2) + tail
    try:
        group = GroupMetadata.decode(encoded)
    except MalformedBytes:
        return
    assert group.encode() == encoded


def test_an_unknown_version_is_refused() -> None:
    with pytest.raises(MalformedBytes, match="group metadata of version 5, where 0 to 4 are known, at byte 0 of 2"):
        GroupMetadata.decode(b"\x00\x05")
