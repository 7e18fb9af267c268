"""Signed requests between workers: the headers, and who is believed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect_dagster.protocol.signature import (
    ALGORITHM_HEADER,
    HMACS,
    SIGNATURE_HEADER,
    RequestSignature,
    signed_headers,
)

KEY, BODY = b"0123456789abcdef0123456789abcdef", b'[{"task.class":"T"}]'
# What javax.crypto.Mac of Java 17 computes for KEY and BODY.
JAVA = {
    "HmacMD5": "Ee6Io3rzXIH05401FBD0mg==",
    "HmacSHA1": "IiQikCY3fj/I3rCZ+vY/6o2Bduo=",
    "HmacSHA224": "7997ms92rLsQdT7q4HydAiVeDfRHEmxPw5eJ7g==",
    "HmacSHA256": "CJotN7/8ACV8VHyJHpomAFVtkmWU7u2GlupK0qH4Qs0=",
    "HmacSHA384": "fQWIQlAdRakXIkzILTsBFXmPdsZQvCKRp8EBgfwb4TgjF4oqXnvJfXLVT7NSNBJw",
    "HmacSHA512": ("kvLbsjwfA6FU0y5skMVpOe/de+qB+7ZvbQvkyYygrPp38+EQP8tFpEmW75zCwRpyy5Ze3CCEtShR5m9zYmu2mQ=="),
    "HmacSHA3-256": "kDrGXAw38evBmpsTjNeJCzkpLUqkn2AUckJBib+yNtI=",
}


@pytest.mark.parametrize("algorithm", HMACS)
@given(key=st.binary(min_size=1), body=st.binary())
def test_what_was_signed_is_believed_and_nothing_else(algorithm: str, key: bytes, body: bytes) -> None:
    headers = signed_headers(key, algorithm, body)
    signature = RequestSignature.of(body, headers)
    assert signature
    assert signature.matches(key)
    assert not signature.matches(key + b"x")
    other = RequestSignature.of(body + b" ", headers)
    assert other
    assert not other.matches(key)


def test_header_names_come_in_any_case() -> None:
    headers = {name.lower(): value for name, value in signed_headers(KEY, "HmacSHA256", b"").items()}
    assert RequestSignature.of(b"", headers) == RequestSignature.of(b"", signed_headers(KEY, "HmacSHA256", b""))


@pytest.mark.parametrize("missing", [SIGNATURE_HEADER, ALGORITHM_HEADER])
def test_without_both_headers_there_is_no_signature(missing: str) -> None:
    headers = signed_headers(KEY, "HmacSHA256", BODY)
    del headers[missing]
    assert RequestSignature.of(BODY, headers) is None


def test_the_algorithm_is_found_in_any_case_and_kept_as_sent() -> None:
    headers = {**signed_headers(KEY, "HmacSHA256", BODY), ALGORITHM_HEADER: "hmacsha256"}
    signature = RequestSignature.of(BODY, headers)
    assert signature
    assert (signature.algorithm, signature.matches(KEY)) == ("hmacsha256", True)


@pytest.mark.parametrize(
    ("algorithm", "code", "text"),
    [
        ("Nope", "!!", "Algorithm Nope not available"),
        ("HmacSHA256", "!!", "Illegal base64 character 21"),
        ("HmacSHA256", "aaaa\xff", "Illegal base64 character -1"),
        ("HmacSHA256", "aaaab", "Last unit does not have enough valid bits"),
        ("HmacSHA256", "a", "Input byte[] should at least have 2 bytes for base64 bytes"),
        ("HmacSHA256", "a=", "Last unit does not have enough valid bits"),
        ("HmacSHA256", "aaa=b", "Input byte array has incorrect ending byte at 4"),
        ("HmacSHA256", "aa=", "Input byte array has wrong 4-byte ending unit"),
        ("HmacSHA256", "aaaa=", "Input byte array has wrong 4-byte ending unit"),
        ("HmacSHA256", "aa==bb", "Input byte array has incorrect ending byte at 4"),
    ],
)
def test_unreadable_headers_are_told_in_javas_words(algorithm: str, code: str, text: str) -> None:
    with pytest.raises(ValueError, match=f"^{text.replace('[]', '..')}$"):
        RequestSignature.of(BODY, {SIGNATURE_HEADER: code, ALGORITHM_HEADER: algorithm})


@pytest.mark.parametrize(("algorithm", "code"), JAVA.items())
def test_javas_signature_is_ours(algorithm: str, code: str) -> None:
    assert signed_headers(KEY, algorithm, BODY)[SIGNATURE_HEADER] == code


def test_padding_may_be_left_out() -> None:
    padded = signed_headers(KEY, "HmacSHA1", BODY)
    unpadded = {**padded, SIGNATURE_HEADER: padded[SIGNATURE_HEADER].rstrip("=")}
    assert RequestSignature.of(BODY, unpadded) == RequestSignature.of(BODY, padded)
