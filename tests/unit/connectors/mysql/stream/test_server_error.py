"""Packets with which a server ends a log."""

import pytest

from connect_dagster.connectors.mysql.stream.server_error import ErrorNumber, ServerError, server_error
from connect_dagster.protocol.wire import MalformedBytes


def test_an_error_with_a_state() -> None:
    found = server_error(b"\xff\xd4\x04#HY000Could not find first log file name")
    assert found == ServerError(ErrorNumber.FATAL_REPLICATION_ERROR, "HY000", "Could not find first log file name")
    assert str(found) == "Could not find first log file name [error 1236 (HY000)]"


def test_an_error_without_a_state() -> None:
    found = server_error(b"\xff\x15\x04Access denied")
    assert found == ServerError(ErrorNumber.ACCESS_DENIED, "", "Access denied")
    assert str(found) == "Access denied [error 1045]"


@pytest.mark.parametrize("packet", [b"\xfe\0\0\2\0", b""])
def test_an_end_without_an_error(packet: bytes) -> None:
    assert server_error(packet) is None


def test_an_error_that_ends_too_early() -> None:
    with pytest.raises(MalformedBytes):
        server_error(b"\xff\xd4")
