"""Errors of Arrow's clients, in the terms of the connector's user."""

import re

import pytest

from connect_dagster.connectors.object_store.arrow_store import failure_of

UPLOADING = "When uploading object with key 'x' in bucket 'lake': AWS Error"


@pytest.mark.parametrize(
    ("text", "remedy", "is_temporary"),
    [
        ("NETWORK_CONNECTION during PutObject operation: curlCode: 7, Could not connect", "cannot be reached", True),
        ("ACCESS_DENIED during PutObject operation: Access Denied", "writing needs s3:PutObject", False),
        ("INVALID_ACCESS_KEY_ID during PutObject operation: No.", "the access key .* is not known there", False),
        ("SIGNATURE_DOES_NOT_MATCH during PutObject operation: No.", "the secret key .* is not that of", False),
        ("NO_SUCH_BUCKET during PutObject operation: No.", "the bucket does not exist", False),
        ("SLOW_DOWN during PutObject operation: Later.", "S3's error is SLOW_DOWN", True),
        ("UNKNOWN (HTTP status 301) during PutObject operation: No response body.", "in another region", False),
        ("UNKNOWN (HTTP status 503) during PutObject operation: Later.", "S3's error is UNKNOWN 503", True),
    ],
)
def test_errors_of_s3(text: str, remedy: str, is_temporary: bool) -> None:
    failure = failure_of(OSError(f"{UPLOADING} {text}"), "s3://lake/x")
    assert failure.text.startswith("s3://lake/x cannot be written: ")
    assert re.search(remedy, failure.text)
    assert failure.is_temporary is is_temporary


@pytest.mark.parametrize(
    ("text", "is_temporary"),
    [
        ("google::cloud::Status(PERMISSION_DENIED: no storage.objects.create access)", False),
        ("google::cloud::Status(UNAVAILABLE: Could not connect to server)", True),
    ],
)
def test_errors_of_google(text: str, is_temporary: bool) -> None:
    failure = failure_of(OSError(text), "gs://lake/x")
    assert failure.text == f"gs://lake/x cannot be written: {text}"
    assert failure.is_temporary is is_temporary
