"""Session keys: their size for each algorithm, as Java's key generators make them."""

from __future__ import annotations

import pytest

from connect_dagster.herder.distributed.session_keys import SessionKeys
from connect_dagster.protocol.signature import HMACS
from tests.unit.herder.distributed.test_config import parsed

# Measured on Java 17.
SIZES = {
    "HmacMD5": 64,
    "HmacSHA1": 64,
    "HmacSHA224": 28,
    "HmacSHA256": 32,
    "HmacSHA384": 48,
    "HmacSHA512": 64,
    "HmacSHA3-224": 28,
    "HmacSHA3-256": 32,
    "HmacSHA3-384": 48,
    "HmacSHA3-512": 64,
}


@pytest.mark.parametrize("algorithm", HMACS)
def test_keys_are_as_long_as_javas(algorithm: str) -> None:
    key = SessionKeys.of(parsed({"inter.worker.key.generation.algorithm": algorithm})).made(7)
    assert (len(key.key), key.algorithm, key.creation_timestamp) == (SIZES[algorithm], algorithm, 7)


@pytest.mark.parametrize(("bits", "size"), [("40", 5), ("41", 6), ("256", 32)])
def test_a_size_in_bits_is_rounded_up_to_bytes(bits: str, size: int) -> None:
    assert len(SessionKeys.of(parsed({"inter.worker.key.size": bits})).made(7).key) == size
