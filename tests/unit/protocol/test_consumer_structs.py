"""Subscriptions and assignments of consumers: real bytes, and structs of any content."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect_dagster.protocol.consumer_structs import ConsumerAssignment, ConsumerSubscription, TopicPartitions
from connect_dagster.protocol.wire import MalformedBytes

# What one consumer of librdkafka 2 joined its group with, and what it was told.
SUBSCRIPTION = bytes.fromhex("0003 00000001 0001 74 00000000 00000000 ffffffff 0000")
ASSIGNMENT = bytes.fromhex("0000 00000001 0001 74 00000002 00000000 00000001 00000000")

texts = st.text(max_size=12)
user_data = st.none() | st.binary(max_size=12)
partitions = st.lists(
    st.builds(TopicPartitions, texts, st.lists(st.integers(0, 1 << 20), max_size=4).map(tuple)), max_size=4
).map(tuple)
subscriptions = st.integers(0, 3).flatmap(
    lambda version: st.builds(
        ConsumerSubscription,
        st.just(version),
        st.lists(texts, max_size=4).map(tuple),
        user_data,
        partitions if version >= 1 else st.just(()),
        st.integers(-1, 1 << 30) if version >= 2 else st.just(-1),
        st.none() | texts if version >= 3 else st.none(),
    )
)
assignments = st.builds(ConsumerAssignment, st.integers(0, 3), partitions, user_data)


def test_what_librdkafka_wrote() -> None:
    assert ConsumerSubscription.decode(SUBSCRIPTION) == ConsumerSubscription(3, ("t",), b"", (), -1, "")
    assert ConsumerSubscription.decode(SUBSCRIPTION).encode() == SUBSCRIPTION
    assert ConsumerAssignment.decode(ASSIGNMENT) == ConsumerAssignment(0, (TopicPartitions("t", (0, 1)),), b"")
    assert ConsumerAssignment.decode(ASSIGNMENT).encode() == ASSIGNMENT


@given(subscriptions | assignments)
def test_any_struct_comes_back_and_every_cut_says_where(struct: ConsumerSubscription | ConsumerAssignment) -> None:
    encoded = struct.encode()
    assert type(struct).decode(encoded) == struct
    for size in range(len(encoded)):
        with pytest.raises(MalformedBytes, match=f"of {size}$"):
            type(struct).decode(encoded[:size])
    with pytest.raises(MalformedBytes, match=f"at byte {len(encoded)} of {len(encoded) + 1}"):
        type(struct).decode(encoded + b"\x00")


@pytest.mark.parametrize("version", [-1, 4])
def test_an_unknown_version_is_refused(version: int) -> None:
    data = version.to_bytes(2, signed=True)
    with pytest.raises(MalformedBytes, match=f"subscription of version {version}, where 0 to 3 are known, at byte 0"):
        ConsumerSubscription.decode(data)
    with pytest.raises(MalformedBytes, match=f"assignment of version {version}, where 0 to 3 are known, at byte 0"):
        ConsumerAssignment.decode(data)
