"""FindCoordinator as it was caught on the wire, read and written by the client library of the worker's group member."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.metadata import CoordinatorType, FindCoordinatorRequest, FindCoordinatorResponse

# From byte 0x34 of the two packets, where TCP's data begins.
REQUEST = bytes.fromhex(
    "0000 0027 000a 0004 0000 0000 0011 7468 6973 5f69 735f 636c 6965 6e74 5f69 6400 0002 0863 6f6e 6e65 6374 00"
)
RESPONSE = bytes.fromhex(
    "0000 0026 0000 0000 0000 0000 0002 0863 6f6e 6e65 6374 0000 0001 076b 6166 6b61 3100 0023 8300 0001 0000"
)
# Length, correlation id, tags: what stands before the response's message.
HEADER = 9

names = st.lists(st.text(alphabet=st.characters(codec="utf-8"), max_size=50), max_size=5)


def test_s2_16_the_request_as_it_was_caught() -> None:
    assert len(REQUEST) == 43
    request = FindCoordinatorRequest.decode(REQUEST, version=4, header=True, framed=True)
    header = request.header
    assert struct.unpack(">i", REQUEST[:4]) == (39,)
    assert (header.request_api_key, header.request_api_version, header.correlation_id) == (10, 4, 0)
    assert header.client_id == "this_is_client_id"
    assert (request.key_type, request.coordinator_keys) == (CoordinatorType.GROUP.value, ["connect"])
    assert request.encode(version=4, header=True, framed=True) == REQUEST


def test_s2_17_the_response_as_it_was_caught() -> None:
    assert len(RESPONSE) == 42
    response = FindCoordinatorResponse.decode(RESPONSE, version=4, header=True, framed=True)
    assert struct.unpack(">i", RESPONSE[:4]) == (38,)
    assert (response.header.correlation_id, response.throttle_time_ms) == (0, 0)
    (found,) = response.coordinators
    assert (found.key, found.node_id, found.host, found.port) == ("connect", 1, "kafka1", 9091)
    assert (found.error_code, found.error_message) == (0, "")
    again = FindCoordinatorResponse(throttle_time_ms=0, coordinators=response.coordinators)
    assert again.encode(version=4) == RESPONSE[HEADER:]


def test_s2_17_other_groups_several_keys_and_transactions() -> None:
    request = FindCoordinatorRequest(key_type=CoordinatorType.TRANSACTION.value, coordinator_keys=["orders", "p-1"])
    assert request.encode(version=4) == b"\x01\x03\x07orders\x04p-1\x00"


@given(keys=names, kind=st.sampled_from(CoordinatorType))
@pytest.mark.parametrize("version", [4, 5])
def test_s2_17_any_request_comes_back(version: int, keys: list[str], kind: CoordinatorType) -> None:
    written = FindCoordinatorRequest(key_type=kind.value, coordinator_keys=keys).encode(version=version)
    read = FindCoordinatorRequest.decode(written, version=version)
    assert (read.key_type, read.coordinator_keys) == (kind.value, keys)
