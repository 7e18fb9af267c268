"""FindCoordinator as it was caught on the wire, and in any other shape."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect_dagster.protocol import wire
from connect_dagster.protocol.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    KeyType,
)
from connect_dagster.protocol.wire import MalformedBytes

# From byte 0x34 of the two packets, where TCP's data begins.
REQUEST = bytes.fromhex(
    "0000 0027 000a 0004 0000 0000 0011 7468 6973 5f69 735f 636c 6965 6e74 5f69 6400 0002 0863 6f6e 6e65 6374 00"
)
RESPONSE = bytes.fromhex(
    "0000 0026 0000 0000 0000 0000 0002 0863 6f6e 6e65 6374 0000 0001 076b 6166 6b61 3100 0023 8300 0001 0000"
)

ints = st.integers(-(1 << 31), (1 << 31) - 1)
tag_buffers = st.dictionaries(st.integers(0, 300), st.binary(max_size=5), max_size=3).map(
    lambda tags: (
        wire.unsigned_varint(len(tags))
        + b"".join(
            wire.unsigned_varint(tag) + wire.unsigned_varint(len(data)) + data for tag, data in sorted(tags.items())
        )
    )
)
requests = st.builds(
    FindCoordinatorRequest,
    keys=st.lists(st.text()).map(tuple),
    key_type=st.sampled_from(KeyType),
    client_id=st.none() | st.text(),
    correlation_id=ints,
    header_tags=tag_buffers,
    tags=tag_buffers,
)
responses = st.builds(
    FindCoordinatorResponse,
    coordinators=st.lists(
        st.builds(
            Coordinator,
            key=st.text(),
            node=ints,
            host=st.text(),
            port=ints,
            error=st.integers(-1, 200),
            error_message=st.none() | st.text(),
            tags=tag_buffers,
        )
    ).map(tuple),
    throttle_time=ints,
    correlation_id=ints,
    header_tags=tag_buffers,
    tags=tag_buffers,
)


def test_s2_16_the_request_as_it_was_caught() -> None:
    assert len(REQUEST) == 43
    request = FindCoordinatorRequest.decode(REQUEST)
    assert request == FindCoordinatorRequest(
        keys=("connect",),
        key_type=KeyType.GROUP,
        client_id="this_is_client_id",
        correlation_id=0,
        header_tags=b"\x00",
        tags=b"\x00",
    )
    assert request.encode() == REQUEST


def test_s2_17_the_response_as_it_was_caught() -> None:
    assert len(RESPONSE) == 42
    response = FindCoordinatorResponse.decode(RESPONSE)
    assert response == FindCoordinatorResponse(
        coordinators=(Coordinator("connect", 1, "kafka1", 9091, error=0, error_message="", tags=b"\x00"),),
        throttle_time=0,
        correlation_id=0,
        header_tags=b"\x00",
        tags=b"\x00",
    )
    assert response.encode() == RESPONSE


def test_s2_17_other_groups_several_keys_and_transactions() -> None:
    request = FindCoordinatorRequest(("orders", "p-1"), KeyType.TRANSACTION)
    body = "01" + "03" + "07" + b"orders".hex() + "04" + b"p-1".hex() + "00"
    assert request.encode() == wire.data(bytes.fromhex("000a 0004 00000000 ffff 00" + body))


@given(requests)
def test_s2_17_any_request_comes_back(request: FindCoordinatorRequest) -> None:
    assert FindCoordinatorRequest.decode(request.encode()) == request


@given(responses)
def test_s2_17_any_response_comes_back(response: FindCoordinatorResponse) -> None:
    assert FindCoordinatorResponse.decode(response.encode()) == response


@pytest.mark.parametrize("message", [FindCoordinatorRequest, FindCoordinatorResponse])
def test_cuts_and_additions_are_malformed(
    message: type[FindCoordinatorRequest] | type[FindCoordinatorResponse],
) -> None:
    packet = REQUEST if message is FindCoordinatorRequest else RESPONSE
    body = packet[4:]
    for size in range(len(body)):
        with pytest.raises(MalformedBytes, match=f"of {size + 4}$"):
            message.decode(wire.data(body[:size]))
        with pytest.raises(MalformedBytes, match="at byte 0"):
            message.decode(packet[: size + 4])
    with pytest.raises(MalformedBytes, match=f"at byte {len(packet)} of {len(packet) + 1}"):
        message.decode(wire.data(body + b"\x00"))


@pytest.mark.parametrize(
    ("at", "byte", "reason"),
    [
        (5, 3, "api key 3, where 10 is expected, at byte 4 of 43"),
        (7, 3, "FindCoordinator version 3, where 4 is expected, at byte 6 of 43"),
        (32, 2, r"key type 2, where 0 \(group\) and 1 \(transaction\) are known, at byte 32 of 43"),
    ],
)
def test_another_message_is_refused(at: int, byte: int, reason: str) -> None:
    changed = bytearray(REQUEST)
    changed[at] = byte
    with pytest.raises(MalformedBytes, match=reason):
        FindCoordinatorRequest.decode(bytes(changed))
